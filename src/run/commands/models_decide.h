// The command hone models decide, which decides whether a version of a model is better than the deployed one. It reads
// the files, runs missing evaluations, and records the decision that decide() (operate/registry/decide.h) makes.
#pragma once

#include <string>

#include "operate/registry/policy.h"
#include "operate/registry/registry.h"

namespace hone {

struct DecideRequest {
  std::string name = {};  // the model
  int64_t version = 0;    // the version about which to decide; 0: the newest
  // policy: see read_policy(). output: the file for the decision; "": none. alias: the alias of the deployed version,
  // such as "champion". parity_dtype: replaces DecisionPolicy::parity_dtype; "": the policy's value is used.
  std::string policy = {}, output = {}, alias = {}, parity_dtype = {};
  bool json = false;  // prints the decision as JSON
};

// For error messages: the commands that evaluate a version, save the evaluated rows, and register them.
std::string commands_for_rows(const ModelVersion& v);

// Returns true if the text is a JSON object, not the path of a file.
bool is_typed_policy(const std::string& text);
// Reads a policy. `text` is a JSON object, or the path of a file with one. Errors: H3143 the policy is malformed, those
// of the store.
Result<DecisionPolicy> read_policy(const std::string& text);

// Compares the version with the deployed one, records the decision, and sets the alias if the verdict is "promote". If
// the deployed version was evaluated on other rows, or not at all, evaluate_like() evaluates it again with the settings
// of the new version's evaluation. Returns exit status 0 for every verdict. Errors: H3006 `output` is a folder, H3011
// this second evaluation fails, H3142 the version has no saved rows, those of decide() and of the registry.
Result<int> decide_version(const DecideRequest& request, Registry& registry);

}  // namespace hone

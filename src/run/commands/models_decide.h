// The command hone models decide, which decides whether a version of a model is better than the deployed one. It reads
// the files, runs missing evaluations, and records the decision that decide() (operate/registry/decide.h) makes.
#pragma once

#include <string>

#include "operate/registry/policy.h"
#include "operate/registry/registry.h"

namespace hone {

struct DecideRequest {
  std::string name = {};  // the model
  int64_t version = 0;    // the version to decide about; 0: the newest
  // policy: see read_policy(). output: the file for the decision; "": none. alias: the alias of the deployed version,
  // such as "champion". parity_dtype: overrides the policy's; "": the policy's.
  std::string policy = {}, output = {}, alias = {}, parity_dtype = {};
  bool json = false;  // prints the decision as JSON
};

// A text with the commands that give a version saved rows of an evaluation, for error messages.
std::string commands_for_rows(const ModelVersion& v);

// Returns true if the text is a JSON object, not the path of a file.
bool is_typed_policy(const std::string& text);
// Reads a policy from a JSON object, or from the file with this path. Errors: H3143 it cannot be used, those of the
// store.
Result<DecisionPolicy> read_policy(const std::string& text);

// Compares the version with the deployed one, records the decision, and sets the alias if the verdict is "promote". If
// the deployed version was evaluated on other rows, or not at all, evaluate_like() evaluates it with the settings of
// the new version's evaluation. Returns exit status 0 for every verdict. Errors: H3006 `output` is a folder, H3011
// that evaluation fails, H3142 the version has no saved rows, those of decide() and of the registry.
Result<int> decide_version(const DecideRequest& request, Registry& registry);

}  // namespace hone

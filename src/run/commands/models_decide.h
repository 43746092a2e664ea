// hone models decide: the files, evaluations and records around the decision of operate/registry/decide.h.
#pragma once

#include <string>

#include "operate/registry/policy.h"
#include "operate/registry/registry.h"

namespace hone {

struct DecideRequest {
  std::string name = {};
  int64_t version = 0;  // 0: the newest
  std::string policy = {}, output = {}, alias = {}, parity_dtype = {};
  bool json = false;
};

// The commands after which a version has saved rows of an evaluation.
std::string commands_for_rows(const ModelVersion& v);

// A policy as it is typed: the JSON object itself, or the path of its file. Errors: H3143, those of the store.
bool is_typed_policy(const std::string& text);
Result<DecisionPolicy> read_policy(const std::string& text);

// Compares, records and, on promote, sets the alias. If the deployed version was evaluated on other
// rows, or not at all, another process of this program evaluates it again with the settings of the
// version. The exit status is 0 for every verdict. Errors: H3006 the output is a folder, H3011
// that process fails, H3142 the version has no saved rows, those of decide() and of the registry.
Result<int> decide_version(const DecideRequest& request, Registry& registry);

}  // namespace hone

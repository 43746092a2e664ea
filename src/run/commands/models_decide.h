// hone models decide: the files, evaluations and records around the decision of operate/registry/decide.h.
#pragma once

#include <string>

#include "operate/registry/registry.h"

namespace hone {

struct DecideRequest {
  std::string name = {};
  int64_t version = 0;  // 0: the newest
  std::string policy = {}, output = {}, alias = {}, parity_dtype = {};
  bool json = false;
};

// Compares, records and, on promote, sets the alias. Where the deployed version was evaluated on other rows, or
// not at all, it is evaluated again as the version was, by another process of this program. The exit status
// is 0 whatever the verdict. Errors: H3011 where that process fails, H3142 where the version has no saved
// rows, those of decide() and of the registry.
Result<int> decide_version(const DecideRequest& request, Registry& registry);

}  // namespace hone

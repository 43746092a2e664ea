// The model and the version that the arguments of hone models register and decide name.
#pragma once

#include <cstdint>
#include <string>

#include "base/core/error.h"

namespace hone {

struct NamedVersion {
  std::string name = {};  // "": none is named
  int64_t version = 0;    // 0: the newest
};

// `reference` (the argument) and `name` (--name) are "", NAME or NAME:3; `version` (--version) is 0 or a number.
// Errors: H0202 another form, H0211 two names or two versions.
Result<NamedVersion> named_version(const std::string& reference, const std::string& name,
                                   int64_t version);

// The name of the model to register: the argument or --name. Errors: H0211 two names.
Result<std::string> named_model(const std::string& reference, const std::string& name);

}  // namespace hone

// Reads the name of a model, and a version, from the arguments of hone models register and decide.
#pragma once

#include <cstdint>
#include <string>

#include "base/core/error.h"

namespace hone {

struct NamedVersion {
  std::string name = {};  // "": none is named
  int64_t version = 0;    // 0: the newest
};

// Combines the argument `reference` and the values of the flags --name and --version. `reference` and `name` have the
// form "", "NAME" or "NAME:3"; `version` is a number, or 0 if it is not given. Errors: H0202 a text has another form,
// H0211 the three values name two models or two versions.
Result<NamedVersion> named_version(const std::string& reference, const std::string& name,
                                   int64_t version);

// The name of the model to register: the argument `reference`, or the value of --name. Error H0211 if the two differ.
Result<std::string> named_model(const std::string& reference, const std::string& name);

}  // namespace hone

// Tables and JSON of hone models.
#pragma once

#include <string>

#include "base/core/json.h"
#include "operate/registry/registry.h"
#include "run/commands/print_table.h"

namespace hone {

struct Shown {
  bool json = false;
  TableForm form = {};
};

void print_json(const OrderedJson& value);
// All return the exit status. Errors: those of the registry.
Result<int> list_models(Registry& registry, const Shown& how);
Result<int> show_model(Registry& registry, const std::string& name, const Shown& how);
// A version as "what, value" lines, the deciding facts first.
Result<int> show_version(Registry& registry, const std::string& reference, const Shown& how);

}  // namespace hone

// The output of hone models list and show, as tables or JSON.
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

void print_json(const OrderedJson& value);  // to standard output
// The functions below print to standard output and return the exit status. Errors: those of the registry.
Result<int> list_models(Registry& registry, const Shown& how);
Result<int> show_model(Registry& registry, const std::string& name, const Shown& how);
// `reference` names a version, such as "news:3". The table has a row for each fact, the most important facts first.
Result<int> show_version(Registry& registry, const std::string& reference, const Shown& how);

}  // namespace hone

// hone runs registered: the runs of the registry, with the models that came from them.
#pragma once

#include "base/core/error.h"
#include "run/commands/print_table.h"

namespace hone {

struct RegisteredRunsRequest {
  std::string registry = {};
  std::string run = {};  // the id of one; "": all
  bool json = false;     // one object a line
};
// Errors: those of the registry.
Result<int> list_registered_runs(const RegisteredRunsRequest& request, const TableForm& form);

}  // namespace hone

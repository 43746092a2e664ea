// The command hone runs registered, which prints the runs in the registry, each with the model versions that it made.
#pragma once

#include "base/core/error.h"
#include "run/commands/print_table.h"

namespace hone {

struct RegisteredRunsRequest {
  std::string registry = {};  // the address of the registry
  std::string run = {};       // the id of a run; "": all runs
  bool json = false;          // prints one JSON object on each line
};
// Prints the runs and returns the exit status. Errors: those of the registry.
Result<int> list_registered_runs(const RegisteredRunsRequest& request, const TableForm& form);

}  // namespace hone

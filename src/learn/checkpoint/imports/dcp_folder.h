// A folder of torch.distributed.checkpoint: `.metadata` and the files `__<rank>_<n>.distcp`.
#pragma once

#include "learn/checkpoint/imports/import_format.h"

namespace hone {

Result<bool> is_dcp_folder(const std::string& path, Store& store);

// Its tensors as a run: states of an optimizer are entries with a key "state" above the weight's name, all
// others are weights under the last key of their path. `steps` is that of an entry "step" or "global_step",
// or of a schedule's "last_epoch", or else the number of updates. Errors: those of read_dcp_metadata;
// H2214: a tensor does not have each element once, or a file is missing.
Result<ImportedRun> open_dcp_folder(const std::string& path, Store& store);

}  // namespace hone

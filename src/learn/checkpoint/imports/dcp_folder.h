// Opens a folder of torch.distributed.checkpoint (DCP): the file `.metadata` and the files `__<rank>_<n>.distcp`.
#pragma once

#include "learn/checkpoint/imports/import_format.h"

namespace hone {

// Whether the folder has a file `.metadata`.
Result<bool> is_dcp_folder(const std::string& path, Store& store);

// Opens the folder as a training run. A tensor whose path of keys (DcpEntry::path) ends in "state", <weight>, <state>
// is a state of the optimizer. Every other tensor is a weight, and its name is the last key of its path.
// ImportedRun::steps comes from an entry "step" or "global_step", else from a schedule's "last_epoch", else from the
// number of updates. H2214: a tensor lacks elements or has some twice, or a file is missing or too short. H2215: the
// folder has flat parameters of FSDP without names, or the optimizer has not updated all weights equally often. Errors
// of read_dcp_metadata().
Result<ImportedRun> open_dcp_folder(const std::string& path, Store& store);

}  // namespace hone

// Folders of torch.distributed.checkpoint.save, such as those of PyTorch's tutorials, torchtitan, and Lightning with
// FSDP, which puts meta.pt beside.
#include "learn/checkpoint/imports/dcp_folder.h"
#include "learn/checkpoint/imports/folder_names.h"
#include "learn/checkpoint/imports/optimizer_dict.h"

namespace hone {
namespace {

Result<ImportedRun> open_dcp(const std::string& path, Store& store) {
  ImportedRun run = HONE_TRY(open_dcp_folder(path, store));
  if (HONE_TRY(store.exists(path + "/meta.pt"))) {
    const auto meta = HONE_TRY(TorchObject::open(path + "/meta.pt", store));
    if (const auto steps = number_of(torch_find(meta->root(), "global_step")); steps && *steps >= 0)
      run.steps = static_cast<int64_t>(*steps);
  }
  run.trainer_state = HONE_TRY(trainer_state_at(path, false, store));
  run.steps = steps_of_trainer_state(run.trainer_state, run.steps);
  return run;
}

}  // namespace

ImportFormat import_dcp() {
  return {.name = "torch.distributed.checkpoint", .is_at = is_dcp_folder, .open = open_dcp};
}

}  // namespace hone

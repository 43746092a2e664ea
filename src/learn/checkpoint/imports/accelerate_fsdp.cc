// Checkpoints of Accelerate with FSDP, as Transformers' Trainer writes them: sharded in folders
// pytorch_model_fsdp_0 and optimizer_0 of torch.distributed.checkpoint, or whole in pytorch_model_fsdp.bin and
// optimizer.bin (accelerate/utils/fsdp_utils.py).
#include <algorithm>

#include "learn/checkpoint/imports/dcp_folder.h"
#include "learn/checkpoint/imports/errors.h"
#include "learn/checkpoint/imports/folder_names.h"
#include "learn/checkpoint/imports/optimizer_dict.h"
#include "learn/checkpoint/imports/piece_weights.h"
#include "learn/checkpoint/torch/torch_file.h"

namespace hone {
namespace {

constexpr const char* kShards = "pytorch_model_fsdp_0";
constexpr const char* kOptimizerShards = "optimizer_0";
constexpr const char* kWhole = "pytorch_model_fsdp.bin";
constexpr const char* kWholeOptimizer = "optimizer.bin";
constexpr const char* kOfRank = "pytorch_model_fsdp_rank*.bin";

Result<bool> is_accelerate(const std::string& path, Store& store) {
  const FolderNames names = HONE_TRY(names_of(path, store));
  return names.has_folder(kShards) || names.has_file(kWhole) ||
         std::any_of(names.files.begin(), names.files.end(), [](const std::string& name) {
           return !numbers_in_name(name, kOfRank).empty();
         });
}

Status add_shards(const std::string& path, const FolderNames& names, Store& store,
                  ImportedRun& run) {
  ImportedRun model = HONE_TRY(open_dcp_folder(path + "/" + kShards, store));
  run.weights = std::move(model.weights);
  if (!names.has_folder(kOptimizerShards)) return Ok{};
  ImportedRun optimizer = HONE_TRY(open_dcp_folder(path + "/" + kOptimizerShards, store));
  run.optimizer = std::move(optimizer.optimizer);
  run.arguments = std::move(optimizer.arguments);
  run.updates = optimizer.updates;
  return Ok{};
}

Status add_whole(const std::string& path, const FolderNames& names, Store& store,
                 ImportedRun& run) {
  run.weights = HONE_TRY(open_torch(path + "/" + kWhole, store));
  if (!names.has_file(kWholeOptimizer)) return Ok{};
  std::shared_ptr<TorchObject> file =
      HONE_TRY(TorchObject::open(path + "/" + kWholeOptimizer, store));
  std::vector<NamedShape> weights;
  for (const TensorInfo& t : run.weights->tensors()) weights.push_back({t.name, t.type.shape});
  const OptimizerDict taken = HONE_TRY(take_optimizer(*file, file->root(), weights));
  file->forget_values();
  auto states = std::make_unique<PieceWeights>();
  states->hold(file);
  for (const std::string& name : taken.tensors) states->add_whole(name, *file, *file->find(name));
  if (!taken.tensors.empty()) run.optimizer = std::move(states);
  run.arguments = taken.arguments;
  run.updates = taken.updates;
  return Ok{};
}

Result<ImportedRun> open_accelerate(const std::string& path, Store& store) {
  const FolderNames names = HONE_TRY(names_of(path, store));
  ImportedRun run;
  run.format = "Accelerate with FSDP";
  if (names.has_folder(kShards))
    HONE_TRY(add_shards(path, names, store, run));
  else if (names.has_file(kWhole))
    HONE_TRY(add_whole(path, names, store, run));
  else
    return Error(err::kImportNotSupported,
                 fmt::format("'{}' has flat parameters of each rank, without names", path))
        .todo("save with --fsdp_state_dict_type SHARDED_STATE_DICT or FULL_STATE_DICT");
  run.trainer_state = HONE_TRY(trainer_state_at(path, false, store));
  run.steps = steps_of_trainer_state(run.trainer_state, run.updates);
  return run;
}

}  // namespace

ImportFormat import_accelerate_fsdp() {
  return {.name = "Accelerate with FSDP", .is_at = is_accelerate, .open = open_accelerate};
}

}  // namespace hone

// Checkpoints of Transformers' Trainer without DeepSpeed and FSDP: the folder of a model or of an adapter with
// optimizer.pt, scheduler.pt, scaler.pt and trainer_state.json (transformers/trainer.py). Random states
// (rng_state*.pth) are not read: hone's dropout and order of rows follow from its own seed.
#include <algorithm>
#include <cmath>

#include "base/core/log.h"
#include "learn/checkpoint/imports/errors.h"
#include "learn/checkpoint/imports/folder_names.h"
#include "learn/checkpoint/imports/optimizer_dict.h"
#include "learn/checkpoint/imports/piece_weights.h"
#include "learn/checkpoint/safetensors/safetensors.h"
#include "learn/checkpoint/torch/torch_file.h"

namespace hone {
namespace {

constexpr const char* kTrainerOptimizer = "optimizer.pt";
constexpr const char* kTrainerSchedule = "scheduler.pt";
constexpr const char* kTrainerScaler = "scaler.pt";

using OpenWeights = Result<std::unique_ptr<WeightSource>> (*)(const std::string& path,
                                                              Store& store);
struct WeightsFile {
  const char* name;
  OpenWeights open;
};
Result<std::unique_ptr<WeightSource>> open_weights_bin(const std::string& path, Store& store) {
  return open_torch(path, store);
}
// An adapter's file takes precedence over its model's, as in a checkpoint of hone.
constexpr WeightsFile kWeightsFiles[] = {
    {"adapter_model.safetensors", open_safetensors},
    {"adapter_model.bin", open_weights_bin},
    {"model.safetensors", open_safetensors},
    {"model.safetensors.index.json", open_safetensors_index},
    {"pytorch_model.bin", open_weights_bin},
    {"pytorch_model.bin.index.json", open_torch_index},
};

const WeightsFile* weights_file(const FolderNames& names) {
  for (const WeightsFile& file : kWeightsFiles)
    if (names.has_file(file.name)) return &file;
  return nullptr;
}

Result<bool> is_transformers(const std::string& path, Store& store) {
  const FolderNames names = HONE_TRY(names_of(path, store));
  return names.has_file(kTrainerOptimizer) && names.has_file("trainer_state.json") &&
         weights_file(names) != nullptr;
}

// The state of ReduceLROnPlateau; null for a schedule that follows from its step.
Json plateau_of(const PickleValue& schedule) {
  const auto best = number_of(torch_find(schedule, "best")),
             bad = number_of(torch_find(schedule, "num_bad_epochs")),
             cooling = number_of(torch_find(schedule, "cooldown_counter")),
             rate = number_of(torch_find(schedule, "_last_lr")[0]);
  if (!best || !bad || !cooling || !rate) return nullptr;
  return {{"rate", *rate},
          {"best", std::isfinite(*best) ? Json(*best) : Json()},
          {"bad_in_row", static_cast<int64_t>(*bad)},
          {"cooling", static_cast<int64_t>(*cooling)}};
}

Status add_schedule(const std::string& path, const FolderNames& names, Store& store,
                    ImportedRun& run) {
  if (!names.has_file(kTrainerSchedule)) return Ok{};
  const auto file = HONE_TRY(TorchObject::open(path + "/" + kTrainerSchedule, store));
  run.plateau = plateau_of(file->root());
  const auto at = number_of(torch_find(file->root(), "last_epoch"));
  if (run.plateau.is_null() && at && *at != static_cast<double>(run.updates))
    log_warning("resume: the schedule was at update {} and is at {} now", *at, run.updates);
  return Ok{};
}

Status add_scaler(const std::string& path, const FolderNames& names, Store& store,
                  ImportedRun& run) {
  if (!names.has_file(kTrainerScaler)) return Ok{};
  const auto file = HONE_TRY(TorchObject::open(path + "/" + kTrainerScaler, store));
  run.loss_scale = number_of(torch_find(file->root(), "scale"));
  return Ok{};
}

Result<ImportedRun> open_transformers(const std::string& path, Store& store) {
  const FolderNames names = HONE_TRY(names_of(path, store));
  const WeightsFile& weights = *weights_file(names);
  ImportedRun run;
  run.format = "Transformers' Trainer";
  run.weights = HONE_TRY(weights.open(path + "/" + weights.name, store));
  std::shared_ptr<TorchObject> file =
      HONE_TRY(TorchObject::open(path + "/" + kTrainerOptimizer, store));
  OptimizerDict taken = HONE_TRY(take_numbered_optimizer(*file, file->root()));
  file->forget_values();
  auto states = std::make_unique<PieceWeights>();
  states->hold(file);
  for (const std::string& name : taken.tensors) states->add_whole(name, *file, *file->find(name));
  if (!taken.tensors.empty()) run.optimizer = std::move(states);
  run.numbered = std::move(taken.numbered);
  run.arguments = std::move(taken.arguments);
  run.updates = taken.updates;
  run.trainer_state = HONE_TRY(trainer_state_at(path, false, store));
  run.steps = std::max(steps_of_trainer_state(run.trainer_state, run.updates), run.updates);
  HONE_TRY(add_schedule(path, names, store, run));
  HONE_TRY(add_scaler(path, names, store, run));
  return run;
}

}  // namespace

ImportFormat import_transformers() {
  return {.name = "Transformers' Trainer", .is_at = is_transformers, .open = open_transformers};
}

}  // namespace hone

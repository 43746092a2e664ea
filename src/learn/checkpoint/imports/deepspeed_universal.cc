// DeepSpeed's universal checkpoints (checkpoint/ds_to_universal.py): a folder zero/<weight> for each weight, with its
// values in f32 and each state of the optimizer in a file.
#include <algorithm>

#include "learn/checkpoint/imports/errors.h"
#include "learn/checkpoint/imports/folder_names.h"
#include "learn/checkpoint/imports/import_format.h"
#include "learn/checkpoint/imports/lazy_tensors.h"
#include "learn/checkpoint/imports/optimizer_dict.h"

namespace hone {
namespace {

constexpr const char* kParam = "param";  // the key of the tensor in a file
constexpr const char* kModel = "mp_rank_00_model_states.pt";

// The folder of a step: the path itself, or the one that `latest_universal` or `latest` names; "": none.
Result<std::string> universal_folder(const std::string& path, Store& store) {
  const FolderNames names = HONE_TRY(names_of(path, store));
  if (names.has_folder("zero") && names.has_file(kModel)) return path;
  for (const char* file : {"latest_universal", "latest"}) {
    if (!names.has_file(file)) continue;
    const std::string folder = HONE_TRY(named_folder(path, file, store));
    const FolderNames in = HONE_TRY(names_of(folder, store));
    if (in.has_folder("zero") && in.has_file(kModel)) return folder;
  }
  return std::string();
}

Result<bool> is_universal(const std::string& path, Store& store) {
  return !HONE_TRY(universal_folder(path, store)).empty();
}

// Adds the tensor of a file; its bytes are read when they are needed.
Status add_file(LazyTensors& to, std::string name, const std::string& path, Store& store) {
  const auto open = [path, &store]() -> Result<std::unique_ptr<WeightSource>> {
    return open_one_tensor(HONE_TRY(open_byte_file(path, store)), kParam);
  };
  const std::unique_ptr<WeightSource> now = HONE_TRY(open());
  TensorInfo info = now->tensors().front();
  info.name = std::move(name);
  to.add_lazy(std::move(info), open);
  return Ok{};
}

Status add_weight(const std::string& folder, const std::string& weight, Store& store,
                  LazyTensors& weights, LazyTensors& states, UpdateCount& updates) {
  const std::string place = fmt::format("{}/zero/{}", folder, weight);
  for (const std::string& file : HONE_TRY(names_of(place, store)).files) {
    if (!file.ends_with(".pt")) continue;
    const std::string state = file.substr(0, file.size() - 3), path = place + "/" + file;
    if (state == "step") {
      const auto source = HONE_TRY(open_one_tensor(HONE_TRY(open_byte_file(path, store)), kParam));
      HONE_TRY(updates.add(*source, LazyTensors::kName, weight));
    } else if (state == "fp32") {
      HONE_TRY(add_file(weights, weight, path, store));
    } else {
      HONE_TRY(add_file(states, state + "." + weight, path, store));
    }
  }
  if (weights.find(weight) != nullptr) return Ok{};
  return Error(err::kImportDamaged, fmt::format("'{}' has no fp32.pt", place))
      .todo("copy the whole checkpoint again, or convert it again with ds_to_universal");
}

Result<ImportedRun> open_universal(const std::string& path, Store& store) {
  const std::string folder = HONE_TRY(universal_folder(path, store));
  ImportedRun run;
  run.format = "DeepSpeed's universal form";
  auto weights = std::make_unique<LazyTensors>(), states = std::make_unique<LazyTensors>();
  UpdateCount updates(folder);
  const FolderNames names = HONE_TRY(names_of(folder + "/zero", store));
  for (const std::string& weight : names.folders)
    HONE_TRY(add_weight(folder, weight, store, *weights, *states, updates));
  if (weights->tensors().empty())
    return Error(err::kImportDamaged, fmt::format("'{}/zero' holds no weights", folder))
        .todo("copy the whole checkpoint again, or convert it again with ds_to_universal");
  if (names.has_file("optimizer_state.pt")) {
    const auto file = HONE_TRY(TorchObject::open(folder + "/zero/optimizer_state.pt", store));
    add_arguments(run.arguments, torch_find(file->root(), "param_groups"));
  }
  const auto model = HONE_TRY(TorchObject::open(folder + "/" + kModel, store));
  const int64_t steps = torch_find(model->root(), "global_steps").integer(),
                skipped = torch_find(model->root(), "skipped_steps").integer();
  run.trainer_state = HONE_TRY(trainer_state_at(path, true, store));
  run.steps = steps_of_trainer_state(run.trainer_state, std::max<int64_t>(steps, 0));
  run.updates = updates.value() > 0 ? updates.value() : std::max<int64_t>(steps - skipped, 0);
  if (!states->tensors().empty()) run.optimizer = std::move(states);
  run.weights = std::move(weights);
  return run;
}

}  // namespace

ImportFormat import_deepspeed_universal() {
  return {.name = "DeepSpeed (universal)", .is_at = is_universal, .open = open_universal};
}

}  // namespace hone

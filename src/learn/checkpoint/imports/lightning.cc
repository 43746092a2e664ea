// Lightning's checkpoints: one file of torch.save with the module's state dict and the states of its optimizers
// (lightning/pytorch/trainer/connectors/checkpoint_connector.py).
#include <set>

#include "learn/checkpoint/imports/errors.h"
#include "learn/checkpoint/imports/import_format.h"
#include "learn/checkpoint/imports/optimizer_dict.h"
#include "learn/checkpoint/imports/piece_weights.h"
#include "learn/checkpoint/torch/torch_file.h"

namespace hone {
namespace {

bool is_of_lightning(const PickleValue& root) {
  return is_torch_dict(torch_find(root, "state_dict")) &&
         torch_find(root, "optimizer_states").is(PickleKind::list) &&
         torch_find(root, "global_step").is(PickleKind::integer);
}

Result<bool> is_lightning(const std::string& path, Store& store) {
  if (!is_torch_file_name(path)) return false;
  const Store::Info info = HONE_TRY(store.info(path));
  if (!info.exists || info.folder) return false;
  const auto file = TorchObject::open(path, store);
  return file.ok() && is_of_lightning((*file)->root());
}

// The weights that an optimizer may have: a tensor that is there under two names counts once.
Result<std::vector<NamedShape>> take_weights(TorchObject& file, const PickleValue& state,
                                             PieceWeights& weights) {
  std::vector<NamedShape> named;
  std::set<int64_t> places;
  for (int64_t i = 0; i < torch_entries(state); ++i) {
    const std::string name(torch_key(state, i).text());
    if (!is_torch_tensor(torch_entry(state, i)) || weights.find(name) != nullptr) continue;
    HONE_TRY(file.take(name, torch_entry(state, i)));
    const TensorInfo& t = *file.find(name);
    weights.add_whole(name, file, t);
    const bool trains = t.type.dtype == DType::f32 || t.type.dtype == DType::bf16 ||
                        t.type.dtype == DType::f16 || t.type.dtype == DType::f64;
    if (trains && (t.bytes == 0 || places.insert(t.offset).second))
      named.push_back({name, t.type.shape});
  }
  return named;
}

Result<ImportedRun> open_lightning(const std::string& path, Store& store) {
  std::shared_ptr<TorchObject> file = HONE_TRY(TorchObject::open(path, store));
  const PickleValue root = file->root(), optimizers = torch_find(root, "optimizer_states");
  ImportedRun run;
  run.format = "Lightning";
  auto weights = std::make_unique<PieceWeights>(), states = std::make_unique<PieceWeights>();
  weights->hold(file);
  states->hold(file);
  const std::vector<NamedShape> named =
      HONE_TRY(take_weights(*file, torch_find(root, "state_dict"), *weights));
  run.steps = torch_find(root, "global_step").integer();
  if (run.steps < 0)
    return Error(err::kImportDamaged, fmt::format("'{}' counts {} steps", path, run.steps))
        .todo("copy the checkpoint again, or save it again");
  if (optimizers.size() > 1)
    return Error(err::kImportNotSupported,
                 fmt::format("'{}' has the states of {} optimizers", path, optimizers.size()))
        .todo("begin a new run from its weights: hone trains with one optimizer");
  run.updates = run.steps;
  if (optimizers.size() == 1) {
    const OptimizerDict taken = HONE_TRY(take_optimizer(*file, optimizers[0], named));
    for (const std::string& name : taken.tensors) states->add_whole(name, *file, *file->find(name));
    run.arguments = taken.arguments;
    if (taken.updates > 0) run.updates = taken.updates;
  }
  file->forget_values();
  if (!states->tensors().empty()) run.optimizer = std::move(states);
  run.weights = std::move(weights);
  return run;
}

}  // namespace

ImportFormat import_lightning() {
  return {.name = "Lightning", .is_at = is_lightning, .open = open_lightning};
}

}  // namespace hone

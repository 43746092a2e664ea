// DeepSpeed's checkpoints (`engine.save_checkpoint`): a folder for each step, and `latest` beside it, which names
// the newest one. The files are those of runtime/engine.py and runtime/zero; utils/zero_to_fp32.py reads the
// weights in the same way.
#include <algorithm>
#include <set>

#include "learn/checkpoint/imports/errors.h"
#include "learn/checkpoint/imports/folder_names.h"
#include "learn/checkpoint/imports/import_format.h"
#include "learn/checkpoint/imports/zero_partitions.h"

namespace hone {
namespace {

constexpr const char* kModelForm = "mp_rank_*_model_states.pt";
constexpr const char* kModelForm3 = "zero_pp_rank_*_mp_rank_*_model_states.pt";
constexpr const char* kOptimizerForms[] = {"zero_pp_rank_*_mp_rank_*_optim_states.pt",
                                           "bf16_zero_pp_rank_*_mp_rank_*_optim_states.pt",
                                           "fp16_zero_pp_rank_*_mp_rank_*_optim_states.pt"};

bool has_model_states(const FolderNames& names) {
  return std::any_of(names.files.begin(), names.files.end(), [](const std::string& name) {
    return !numbers_in_name(name, kModelForm).empty() ||
           !numbers_in_name(name, kModelForm3).empty();
  });
}

// The folder of a step: the path itself, or the one that `latest` names; "": neither.
Result<std::string> step_folder(const std::string& path, Store& store) {
  if (has_model_states(HONE_TRY(names_of(path, store)))) return path;
  const std::string latest = HONE_TRY(named_folder(path, "latest", store));
  if (latest.empty() || !has_model_states(HONE_TRY(names_of(latest, store)))) return std::string();
  return latest;
}

Result<bool> is_deepspeed(const std::string& path, Store& store) {
  const std::string folder = HONE_TRY(step_folder(path, store));
  if (folder.empty()) return false;
  return !HONE_TRY(names_of(folder, store)).has_folder("zero");  // universal
}

Error deepspeed_damaged(const std::string& file, const std::string& what) {
  return Error(err::kImportDamaged, fmt::format("'{}' {}", file, what))
      .todo("copy the whole checkpoint again: all its files belong together");
}

// The names of files of the run's ranks, by rank.
struct RankFiles {
  std::vector<std::string> model, optimizer;
};

Result<RankFiles> rank_files(const std::string& folder, const FolderNames& names) {
  std::map<int64_t, std::string> model, optimizer;
  const auto refused = [&](const std::string& name, const std::string& what) {
    return Error(err::kImportNotSupported, fmt::format("'{}/{}' is of {}", folder, name, what))
        .todo(
            "convert it in its own program: DeepSpeed's ds_to_universal joins ranks of tensor and "
            "pipeline parallelism");
  };
  for (const std::string& name : names.files) {
    if (name.starts_with("layer_"))
      return refused(name, name.find("expert") != name.npos ? "a mixture of experts"
                                                            : "a pipeline of several stages");
    if (name.starts_with("expp_rank_")) return refused(name, "a mixture of experts");
    if (const auto n = numbers_in_name(name, kModelForm); !n.empty()) {
      if (n[0] != 0) return refused(name, "several ranks of tensor parallelism");
      model[0] = name;
    }
    if (const auto n = numbers_in_name(name, kModelForm3); !n.empty()) {
      if (n[1] != 0) return refused(name, "several ranks of tensor parallelism");
      model[n[0]] = name;
    }
    for (const char* form : kOptimizerForms)
      if (const auto n = numbers_in_name(name, form); !n.empty()) {
        if (n[1] != 0) return refused(name, "several ranks of tensor parallelism");
        if (!optimizer.emplace(n[0], name).second)
          return deepspeed_damaged(folder, fmt::format("has two files of rank {}", n[0]));
      }
  }
  RankFiles files;
  for (auto* of : {&model, &optimizer}) {
    for (const auto& [rank, name] : *of) {
      std::vector<std::string>& list = of == &model ? files.model : files.optimizer;
      if (rank != static_cast<int64_t>(list.size()))
        return deepspeed_damaged(folder,
                                 fmt::format("has '{}' and no file of rank {}", name, list.size()));
      list.push_back(name);
    }
  }
  return files;
}

// *_model_states.pt of one rank.
struct ModelStates {
  std::shared_ptr<TorchObject> file;
  ZeroGroups groups;  // weights in flat tensors
  std::vector<NamedShape> frozen;
  std::vector<std::pair<std::string, std::string>> shared;  // another name of a weight
  int64_t steps = 0, skipped = 0;
};

Status read_shapes(const TorchObject& file, const PickleValue& shapes,
                   std::vector<NamedShape>& list) {
  for (int64_t i = 0; i < torch_entries(shapes); ++i) {
    const auto shape = torch_shape(torch_entry(shapes, i));
    const std::string name(torch_key(shapes, i).text());
    if (!shape || name.empty())
      return deepspeed_damaged(file.path(), fmt::format("has no shape of '{}'", name));
    list.push_back({name, *shape});
  }
  return Ok{};
}

Result<ModelStates> read_model_states(const std::string& path, Store& store) {
  ModelStates m;
  m.file = HONE_TRY(TorchObject::open(path, store));
  const PickleValue root = m.file->root(), shapes = torch_find(root, "param_shapes");
  if (!is_torch_dict(torch_find(root, "module")))
    return deepspeed_damaged(path, "has no state dict 'module'");
  std::set<std::string> names;
  for (int64_t g = 0; g < shapes.size(); ++g) {
    m.groups.emplace_back();
    HONE_TRY(read_shapes(*m.file, shapes[g], m.groups.back()));
    for (const NamedShape& weight : m.groups.back())
      if (!names.insert(weight.name).second)
        return deepspeed_damaged(path, fmt::format("lists '{}' twice", weight.name));
  }
  HONE_TRY(read_shapes(*m.file, torch_find(root, "frozen_param_shapes"), m.frozen));
  const PickleValue shared = torch_find(root, "shared_params");
  for (int64_t i = 0; i < torch_entries(shared); ++i)
    m.shared.emplace_back(torch_key(shared, i).text(), torch_entry(shared, i).text());
  m.steps = torch_find(root, "global_steps").integer();
  m.skipped = torch_find(root, "skipped_steps").integer();
  if (m.steps < 0 || m.skipped < 0 || m.skipped > m.steps)
    return deepspeed_damaged(path,
                             fmt::format("counts {} steps and {} skipped", m.steps, m.skipped));
  return m;
}

TensorInfo info_of(const NamedShape& weight, const std::string& file) {
  TensorInfo info;
  info.name = weight.name;
  info.type = {DType::f32, weight.shape};
  info.file = file;
  info.bytes = info.type.bytes();
  return info;
}

// Adds the tensors of the state dict that are in no flat tensor: all of them, or only the buffers.
Status add_module(ModelStates& m, bool all, PieceWeights& weights) {
  const PickleValue module = torch_find(m.file->root(), "module"),
                    buffers = torch_find(m.file->root(), "buffer_names");
  std::set<std::string_view> wanted;
  for (int64_t i = 0; i < buffers.size(); ++i) wanted.insert(buffers[i].text());
  for (int64_t i = 0; i < torch_entries(module); ++i) {
    const std::string name(torch_key(module, i).text());
    const PickleValue tensor = torch_entry(module, i);
    if (!is_torch_tensor(tensor) || (!all && !wanted.contains(name)) || weights.find(name))
      continue;
    HONE_TRY(m.file->take(name, tensor));
    weights.add_whole(name, *m.file, *m.file->find(name));
  }
  return Ok{};
}

// Weights that the run did not train: a part for each rank in stage 3, else whole.
Status add_frozen(const std::string& folder, const RankFiles& files, ModelStates& first,
                  int64_t stage, Store& store, PieceWeights& weights) {
  if (first.frozen.empty()) return Ok{};
  std::vector<std::shared_ptr<TorchObject>> ranks = {first.file};
  for (size_t r = 1; stage == 3 && r < files.model.size(); ++r) {
    ranks.push_back(HONE_TRY(TorchObject::open(folder + "/" + files.model[r], store)));
    weights.hold(ranks.back());
  }
  for (const NamedShape& weight : first.frozen) {
    const std::string name = "frozen." + weight.name;
    const int64_t elements = Type{DType::u8, weight.shape}.count();
    TensorInfo info = info_of(weight, first.file->path());
    std::vector<TensorPiece> pieces;
    int64_t at = 0;
    for (const auto& rank : ranks) {
      const PickleValue part =
          torch_find(torch_find(rank->root(), "frozen_param_fragments"), weight.name);
      if (!is_torch_tensor(part))
        return deepspeed_damaged(rank->path(), fmt::format("has no '{}'", weight.name));
      HONE_TRY(rank->take(name, part));
      const TensorInfo* held = rank->find(name);
      info.type.dtype = held->type.dtype;
      info.bytes = info.type.bytes();
      const int64_t n = std::min(held->type.count(), elements - at);
      pieces.push_back(flat_piece(*rank, name, 0, elements, at, n));
      at += n;
    }
    if (const std::string fault = fault_of_pieces(weight.shape, pieces); !fault.empty())
      return deepspeed_damaged(first.file->path(), fmt::format("'{}' {}", weight.name, fault));
    if (weights.find(weight.name) != nullptr)
      return deepspeed_damaged(first.file->path(), fmt::format("has '{}' twice", weight.name));
    weights.add_pieces(std::move(info), std::move(pieces));
  }
  return Ok{};
}

// A run without ZeRO: weights and a PyTorch optimizer's state dict in one file.
Status add_without_zero(ModelStates& m, ImportedRun& run, PieceWeights& weights,
                        PieceWeights& states) {
  HONE_TRY(add_module(m, true, weights));
  const PickleValue optimizer = torch_find(m.file->root(), "optimizer");
  if (!is_torch_dict(optimizer)) return Ok{};
  if (!is_torch_dict(torch_find(optimizer, "state")))
    return Error(err::kImportNotSupported,
                 fmt::format("'{}' has an optimizer in 16 bits without ZeRO", m.file->path()))
        .todo("begin a new run from its weights, or save it with ZeRO stage 1, 2 or 3");
  std::vector<NamedShape> trained;
  std::set<std::string> others;
  for (const auto& [other, weight] : m.shared) others.insert(other);
  for (const TensorInfo& t : weights.tensors())
    if (!others.contains(t.name)) trained.push_back({t.name, t.type.shape});
  const OptimizerDict taken = HONE_TRY(take_optimizer(*m.file, optimizer, trained));
  for (const std::string& name : taken.tensors)
    states.add_whole(name, *m.file, *m.file->find(name));
  run.arguments = taken.arguments;
  if (taken.updates > 0) run.updates = taken.updates;
  return Ok{};
}

// Adds what all ranks have of each weight and its states.
Status add_zero(const std::vector<ZeroRank>& ranks, const ModelStates& m, PieceWeights& weights,
                PieceWeights& states) {
  for (const std::string& kind : ranks[0].kinds) {
    auto pieces = HONE_TRY(zero_pieces(ranks, m.groups, kind));
    PieceWeights& to = kind == "fp32" ? weights : states;
    const std::string prefix = kind == "fp32" ? "" : kind + ".";
    for (const auto& group : m.groups)
      for (const NamedShape& weight : group) {
        TensorInfo info = info_of(weight, ranks[0].file->path());
        info.name = prefix + weight.name;
        info.type.dtype = ranks[0].file->find(kind + ".0")->type.dtype;
        info.bytes = info.type.bytes();
        to.add_pieces(std::move(info), pieces.at(weight.name));
      }
    for (const auto& [other, weight] : m.shared) {
      const auto of = pieces.find(weight);
      if (of == pieces.end() || to.find(prefix + other) != nullptr) continue;
      TensorInfo info = *to.find(prefix + weight);
      info.name = prefix + other;
      to.add_pieces(std::move(info), of->second);
    }
  }
  return Ok{};
}

Result<std::vector<ZeroRank>> read_ranks(const std::string& folder,
                                         const std::vector<std::string>& files, Store& store) {
  std::vector<ZeroRank> ranks;
  for (const std::string& name : files) {
    ranks.push_back(
        HONE_TRY(read_zero_rank(HONE_TRY(TorchObject::open(folder + "/" + name, store)))));
    const ZeroRank &first = ranks.front(), &rank = ranks.back();
    if (rank.ranks != static_cast<int64_t>(files.size()))
      return deepspeed_damaged(
          folder, fmt::format("has files of {} ranks, the run had {}", files.size(), rank.ranks));
    if (rank.stage != first.stage || rank.kinds != first.kinds ||
        rank.optimizer.updates != first.optimizer.updates)
      return deepspeed_damaged(rank.file->path(), "is of another save than rank 0's file");
  }
  return ranks;
}

Result<ImportedRun> open_deepspeed(const std::string& path, Store& store) {
  const std::string folder = HONE_TRY(step_folder(path, store));
  const RankFiles files = HONE_TRY(rank_files(folder, HONE_TRY(names_of(folder, store))));
  ModelStates m = HONE_TRY(read_model_states(folder + "/" + files.model[0], store));
  ImportedRun run;
  auto weights = std::make_unique<PieceWeights>(), states = std::make_unique<PieceWeights>();
  weights->hold(m.file);
  states->hold(m.file);
  run.updates = m.steps - m.skipped;
  if (files.optimizer.empty()) {
    if (!m.groups.empty() && files.model[0].starts_with("zero_"))
      return deepspeed_damaged(folder,
                               "has no files *_optim_states.pt, where stage 3 keeps the weights");
    HONE_TRY(add_without_zero(m, run, *weights, *states));
    run.format = "DeepSpeed";
  } else {
    const std::vector<ZeroRank> ranks = HONE_TRY(read_ranks(folder, files.optimizer, store));
    for (const ZeroRank& rank : ranks) {
      weights->hold(rank.file);
      states->hold(rank.file);
    }
    if (m.groups.empty()) return deepspeed_damaged(m.file->path(), "has no param_shapes");
    HONE_TRY(add_zero(ranks, m, *weights, *states));
    HONE_TRY(add_frozen(folder, files, m, ranks[0].stage, store, *weights));
    HONE_TRY(add_module(m, false, *weights));
    run.format = fmt::format("DeepSpeed ZeRO-{} of {}", ranks[0].stage,
                             ranks.size() == 1 ? "1 rank" : fmt::format("{} ranks", ranks.size()));
    run.arguments = ranks[0].optimizer.arguments;
    if (ranks[0].optimizer.updates > 0) run.updates = ranks[0].optimizer.updates;
    run.loss_scale = ranks[0].loss_scale;
  }
  m.file->forget_values();
  run.trainer_state = HONE_TRY(trainer_state_at(path, true, store));
  run.steps = steps_of_trainer_state(run.trainer_state, m.steps);
  if (!states->tensors().empty()) run.optimizer = std::move(states);
  run.weights = std::move(weights);
  return run;
}

}  // namespace

ImportFormat import_deepspeed() {
  return {.name = "DeepSpeed", .is_at = is_deepspeed, .open = open_deepspeed};
}

}  // namespace hone

// Megatron-LM's checkpoints in the form "torch": iter_<step>/mp_rank_<rank>/model_optim_rng.pt beside
// latest_checkpointed_iteration.txt (megatron/training/checkpointing.py). Models of GPT-2's and Llama's shape, any
// number of tensor-parallel ranks.
#include <algorithm>
#include <map>

#include "base/core/text.h"
#include "learn/checkpoint/imports/errors.h"
#include "learn/checkpoint/imports/folder_names.h"
#include "learn/checkpoint/imports/import_format.h"
#include "learn/checkpoint/imports/megatron_layout.h"
#include "learn/checkpoint/imports/optimizer_dict.h"
#include "learn/checkpoint/safetensors/derived_weights.h"

namespace hone {
namespace {

constexpr const char* kLatestIteration = "latest_checkpointed_iteration.txt";
constexpr const char* kRankFile = "model_optim_rng.pt";
constexpr const char* kBeginFromWeights =
    "convert it with Megatron's tools/checkpoint/convert.py or Megatron Bridge to a folder of "
    "Transformers, and begin a new run from its weights: --model_name_or_path FOLDER";

Error not_read(const std::string& path, const std::string& what) {
  return Error(err::kImportNotSupported, fmt::format("'{}' {}", path, what))
      .todo(kBeginFromWeights);
}
Error megatron_damaged(const std::string& path, const std::string& what) {
  return Error(err::kImportDamaged, fmt::format("'{}' {}", path, what))
      .todo("copy the whole checkpoint again, or save it again");
}

bool has_rank_folders(const FolderNames& names) {
  return std::any_of(names.folders.begin(), names.folders.end(),
                     [](const std::string& name) { return name.starts_with("mp_rank_"); });
}

Result<bool> is_megatron(const std::string& path, Store& store) {
  const FolderNames names = HONE_TRY(names_of(path, store));
  if (names.has_file(kLatestIteration)) return true;
  for (const std::string& folder : names.folders)
    if (folder.starts_with("mp_rank_") &&
        HONE_TRY(names_of(path + "/" + folder, store)).has_file(kRankFile))
      return true;
  return false;
}

// The folder of the iteration that the tracker names, or the path itself.
Result<std::string> iteration_folder(const std::string& path, Store& store) {
  const std::string tracker = path + "/" + kLatestIteration;
  if (!HONE_TRY(store.exists(tracker))) return path;
  const std::string read = HONE_TRY(store.read(tracker)), word(trim(read));
  std::string folder = "release";
  if (word != folder) {
    const std::vector<int64_t> number = numbers_in_name(word, "*");
    if (number.empty())
      return megatron_damaged(tracker, fmt::format("names the iteration '{}'", word.substr(0, 40)));
    folder = fmt::format("iter_{:07}", number[0]);
  }
  if (HONE_TRY(store.info(path + "/" + folder)).folder) return path + "/" + folder;
  return megatron_damaged(tracker,
                          fmt::format("names the folder '{}', which is not there", folder));
}

// The files of all ranks, in their order.
Result<std::vector<std::string>> rank_paths(const std::string& folder, Store& store) {
  const FolderNames names = HONE_TRY(names_of(folder, store));
  if (!has_rank_folders(names))
    return not_read(folder, "has no folders mp_rank_*: hone reads Megatron's form 'torch' alone");
  std::map<int64_t, std::string> found;
  for (const std::string& name : names.folders) {
    if (!name.starts_with("mp_rank_")) continue;
    const std::vector<int64_t> numbers = numbers_in_name(name, "mp_rank_*");
    if (numbers.size() != 1)
      return not_read(folder + "/" + name, "is of several stages of a pipeline, or of experts");
    found[numbers[0]] = folder + "/" + name + "/" + kRankFile;
  }
  std::vector<std::string> paths;
  for (const auto& [rank, path] : found) {
    if (rank != static_cast<int64_t>(paths.size()) || !HONE_TRY(store.exists(path)))
      return megatron_damaged(folder, fmt::format("has no file of rank {}", paths.size()));
    paths.push_back(path);
  }
  return paths;
}

class MegatronArgs {
 public:
  MegatronArgs(const PickleValue& args, const std::string& path)
      : args_(args.state()), path_(path) {}

  Result<MegatronShape> shape() const {
    for (const char* flag : {"apply_layernorm_1p", "rotary_interleaved", "qk_layernorm", "qk_norm",
                             "multi_latent_attention", "squared_relu", "bert_binary_head"})
      if (flag_of(flag)) return not_read(path_, fmt::format("was made with {}", flag));
    if (!args_.find("num_experts").is(PickleKind::none))
      return not_read(path_, "is a mixture of experts");
    if (number("pipeline_model_parallel_size", 1) != 1)
      return not_read(path_, "is of several stages of a pipeline");
    if (const auto share = number_of(args_.find("rotary_percent")); share && *share != 1)
      return not_read(path_, fmt::format("rotates a share of {} of each head", *share));
    MegatronShape s;
    const std::string positions(args_.find("position_embedding_type").text());
    s.llama = positions == "rope";
    const bool rms = args_.find("normalization").text() == "RMSNorm";
    if ((!s.llama && positions != "learned_absolute") || s.llama != flag_of("swiglu") ||
        s.llama != rms)
      return not_read(path_, "has not the shape of GPT-2 or Llama (positions, norms, MLP)");
    const int64_t hidden = number("hidden_size", 0);
    s.heads = number("num_attention_heads", 0);
    s.groups = flag_of("group_query_attention") ? number("num_query_groups", 0) : s.heads;
    if (s.heads < 1 || s.groups < 1 || s.heads % s.groups != 0 || hidden < 1)
      return megatron_damaged(path_, fmt::format("has {} heads in {} groups of a model of size {}",
                                                 s.heads, s.groups, hidden));
    s.head_dim = number("kv_channels", hidden / s.heads);
    if (s.head_dim < 1 || s.head_dim > hidden || (!s.llama && s.groups != s.heads))
      return not_read(path_, "has heads that Transformers' model of its kind has not");
    return s;
  }
  Json arguments() const {
    Json found = Json::object();
    for (const auto& [theirs, ours] : {std::pair{"lr", "learning_rate"},
                                       {"weight_decay", "weight_decay"},
                                       {"adam_beta1", "adam_beta1"},
                                       {"adam_beta2", "adam_beta2"},
                                       {"adam_eps", "adam_epsilon"}})
      if (const auto value = number_of(args_.find(theirs))) found[ours] = *value;
    return found;
  }
  int64_t ranks() const { return number("tensor_model_parallel_size", 1); }

 private:
  bool flag_of(const char* name) const {
    const PickleValue v = args_.find(name);
    return v.is(PickleKind::boolean) && v.integer() != 0;
  }
  int64_t number(const char* name, int64_t otherwise) const {
    const PickleValue v = args_.find(name);
    return v.is(PickleKind::integer) ? v.integer() : otherwise;
  }

  PickleValue args_;
  const std::string& path_;
};

struct MegatronRank {
  std::shared_ptr<TorchObject> file;
  std::vector<NamedShape> weights;  // in the order of the module
  std::vector<std::string> states;  // tensors "<state>.<weight>"; "fp32" for weights in f32
  int64_t updates = 0;
};

// Takes the tensors of nested dicts under their names with dots.
Status take_module(MegatronRank& rank, const PickleValue& dict, const std::string& at, int depth) {
  if (depth > 8) return megatron_damaged(rank.file->path(), "has a module in a module in a module");
  for (int64_t i = 0; i < torch_entries(dict); ++i) {
    const std::string name = at + std::string(torch_key(dict, i).text());
    const PickleValue value = torch_entry(dict, i);
    if (is_torch_dict(value)) {
      HONE_TRY(take_module(rank, value, name + ".", depth + 1));
    } else if (is_torch_tensor(value) && !name.ends_with("_extra_state")) {
      if (!megatron_weight(name))
        return not_read(
            rank.file->path(),
            fmt::format("has '{}', which no model of GPT-2's or Llama's shape has", name));
      if (rank.file->find(name) != nullptr)
        return megatron_damaged(rank.file->path(), fmt::format("has '{}' twice", name));
      HONE_TRY(rank.file->take(name, value));
      rank.weights.push_back({name, rank.file->find(name)->type.shape});
    }
  }
  return Ok{};
}

// Names the states of the optimizer by the order of the weights; in 16 bits its weights in f32 too.
Status take_rank_optimizer(MegatronRank& rank, const PickleValue& saved, PieceWeights& named) {
  const PickleValue inner = torch_find(saved, "optimizer"),
                    dict = is_torch_dict(inner) ? inner : saved;
  if (!is_torch_dict(torch_find(dict, "state"))) return Ok{};
  const OptimizerDict taken = HONE_TRY(take_numbered_optimizer(*rank.file, dict));
  rank.updates = taken.updates;
  std::vector<std::vector<std::optional<Shape>>> shapes;
  for (const auto& group : taken.numbered) {
    shapes.emplace_back();
    for (const NumberedState& state : group) shapes.back().push_back(state.shape);
  }
  const auto names = names_in_groups(rank.weights, shapes);
  if (!names)
    return not_read(rank.file->path(), "numbers states whose shapes do not say their weights");
  std::map<std::string, std::string> weight_of;
  for (size_t g = 0; g < names->size(); ++g)
    for (size_t i = 0; i < (*names)[g].size(); ++i)
      weight_of[taken.numbered[g][i].key] = (*names)[g][i];
  for (const std::string& tensor : taken.tensors) {
    const size_t dot = tensor.find('.');
    const std::string name = tensor.substr(0, dot + 1) + weight_of[tensor.substr(dot + 1)];
    named.add_whole(name, *rank.file, *rank.file->find(tensor));
    rank.states.push_back(name);
  }
  const PickleValue masters = torch_find(saved, "fp32_from_fp16_params");
  for (int64_t g = 0; g < masters.size() && g < static_cast<int64_t>(names->size()); ++g) {
    const std::vector<std::string>& group = (*names)[static_cast<size_t>(g)];
    if (masters[g].size() != static_cast<int64_t>(group.size()))
      return not_read(rank.file->path(), "trains weights of several precisions");
    for (int64_t i = 0; i < masters[g].size(); ++i) {
      const std::string name = "fp32." + group[static_cast<size_t>(i)];
      HONE_TRY(rank.file->take(name, masters[g][i]));
      named.add_whole(name, *rank.file, *rank.file->find(name));
      rank.states.push_back(name);
    }
  }
  return Ok{};
}

// Matrices that Transformers keeps as [in,out]: each read transposes its matrix whole.
class TransposedWeights final : public DerivedWeights {
 public:
  TransposedWeights(std::unique_ptr<WeightSource> base, const MegatronShape& shape)
      : DerivedWeights(std::move(base)) {
    for (const TensorInfo& t : base_->tensors()) {
      if (!is_transposed(shape, t.name) || t.type.shape.size() != 2) {
        keep(t);
        continue;
      }
      TensorInfo info = t;
      std::swap(info.type.shape[0], info.type.shape[1]);
      take(std::move(info), "");
    }
  }

 protected:
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override {
    if (!names_[index].empty()) return DerivedWeights::read_elements_of(index, as, first, out);
    const TensorInfo& t = tensors_[index];
    const int64_t rows = t.type.shape[0], columns = t.type.shape[1], size = size_of(as);
    std::vector<std::byte> whole(static_cast<size_t>(rows * columns * size));
    HONE_TRY(base_->read(t.name, as, whole));
    const int64_t count = static_cast<int64_t>(out.size()) / size;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = (first + i) / columns, column = (first + i) % columns;
      std::copy_n(whole.begin() + (column * rows + row) * size, size, out.begin() + i * size);
    }
    return Ok{};
  }
};

// The part of each rank of `tensor`; empty: rank 0 has none.
Result<std::vector<RankTensor>> parts_of(const std::vector<MegatronRank>& ranks,
                                         const std::vector<const WeightSource*>& from,
                                         const std::string& tensor) {
  std::vector<RankTensor> parts;
  if (from[0]->find(tensor) == nullptr) return parts;
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (from[r]->find(tensor) == nullptr)
      return megatron_damaged(ranks[r].file->path(), fmt::format("has no '{}'", tensor));
    parts.push_back({from[r], tensor});
  }
  return parts;
}

Status join_ranks(const std::vector<MegatronRank>& ranks,
                  const std::vector<std::shared_ptr<PieceWeights>>& states,
                  const MegatronShape& shape, PieceWeights& weights, PieceWeights& moments) {
  std::vector<const WeightSource*> files, named;
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].weights.size() != ranks[0].weights.size() ||
        ranks[r].states.size() != ranks[0].states.size() || ranks[r].updates != ranks[0].updates)
      return megatron_damaged(ranks[r].file->path(), "is of another save than rank 0's file");
    files.push_back(ranks[r].file.get());
    named.push_back(states[r].get());
  }
  const auto join = [&](const std::vector<const WeightSource*>& from, const std::string& tensor,
                        const std::string& weight, const std::string& prefix,
                        PieceWeights& to) -> Status {
    const std::vector<RankTensor> parts = HONE_TRY(parts_of(ranks, from, tensor));
    const std::string fault =
        add_megatron_weight(shape, *megatron_weight(weight), parts, prefix, to);
    if (fault.empty()) return Ok{};
    return megatron_damaged(ranks[0].file->path(), fmt::format("'{}' {}", tensor, fault));
  };
  for (const NamedShape& w : ranks[0].weights) {
    const std::string master = "fp32." + w.name;
    const bool has_master = named[0]->find(master) != nullptr;
    HONE_TRY(join(has_master ? named : files, has_master ? master : w.name, w.name, "", weights));
  }
  for (const std::string& state : ranks[0].states) {
    const size_t dot = state.find('.');
    const std::string kind = state.substr(0, dot);
    if (kind != "fp32") HONE_TRY(join(named, state, state.substr(dot + 1), kind + ".", moments));
  }
  return Ok{};
}

Result<ImportedRun> open_megatron(const std::string& path, Store& store) {
  const std::string folder = HONE_TRY(iteration_folder(path, store));
  std::vector<MegatronRank> ranks;
  std::vector<std::shared_ptr<PieceWeights>> states;
  ImportedRun run;
  std::optional<MegatronShape> shape;
  const std::vector<std::string> files = HONE_TRY(rank_paths(folder, store));
  auto weights = std::make_unique<PieceWeights>(), moments = std::make_unique<PieceWeights>();
  for (const std::string& file : files) {
    MegatronRank rank;
    rank.file = HONE_TRY(TorchObject::open(file, store));
    states.push_back(std::make_shared<PieceWeights>());
    for (PieceWeights* to : {weights.get(), moments.get()}) {
      to->hold(rank.file);
      to->hold(states.back());
    }
    const PickleValue root = rank.file->root();
    if (!is_torch_dict(torch_find(root, "model")))
      return not_read(file, "has no 'model': it is of a virtual pipeline or of another program");
    if (ranks.empty()) {
      const MegatronArgs args(torch_find(root, "args"), file);
      shape = HONE_TRY(args.shape());
      run.arguments = args.arguments();
      run.steps = std::max<int64_t>(torch_find(root, "iteration").integer(), 0);
      if (args.ranks() != static_cast<int64_t>(files.size()))
        return megatron_damaged(folder, fmt::format("has files of {} ranks, the run had {}",
                                                    files.size(), args.ranks()));
      run.format =
          fmt::format("Megatron-LM of {} rank{}", files.size(), files.size() == 1 ? "" : "s");
    }
    HONE_TRY(take_module(rank, torch_find(root, "model"), "", 0));
    HONE_TRY(take_rank_optimizer(rank, torch_find(root, "optimizer"), *states.back()));
    rank.file->forget_values();
    ranks.push_back(std::move(rank));
  }
  HONE_TRY(join_ranks(ranks, states, *shape, *weights, *moments));
  run.updates = ranks[0].updates > 0 ? ranks[0].updates : run.steps;
  run.steps = std::max(run.steps, run.updates);
  for (const TensorInfo& t : weights->tensors())
    if (is_padded_table(*shape, t.name)) run.padded.insert(t.name);
  if (!moments->tensors().empty())
    run.optimizer = std::make_unique<TransposedWeights>(std::move(moments), *shape);
  run.weights = std::make_unique<TransposedWeights>(std::move(weights), *shape);
  return run;
}

}  // namespace

ImportFormat import_megatron() {
  return {.name = "Megatron-LM", .is_at = is_megatron, .open = open_megatron};
}

}  // namespace hone

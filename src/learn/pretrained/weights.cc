// Weights between a checkpoint and the states of a session.
#include "learn/pretrained/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "base/core/philox.h"
#include "base/core/text.h"
#include "base/core/threads.h"
#include "engine/passes/store_weights.h"
#include "learn/checkpoint/safetensors/convert.h"
#include "learn/checkpoint/state_tensor.h"
#include "learn/models/errors.h"
#include "learn/pretrained/errors.h"
#include "learn/pretrained/pissa.h"
#include "learn/pretrained/pretrained.h"
#include "learn/pretrained/quantized_state.h"

namespace hone {
namespace {

// Normal weights from the seed and the weight's name (Philox), or what the family says else; given
// block after block, as a weight may be larger than the memory beside the arena.
class FirstValues {
 public:
  FirstValues(const ParamSpec& spec, uint64_t seed)
      : spec_(spec), key_(dropout_key(seed, 0, scope_hash(spec.name))) {
    if (spec.init == ParamSpec::Init::sinusoids) table_ = sinusoids(spec.shape[0], spec.shape[1]);
    if (spec.zero_row >= 0) zero_begin_ = spec.zero_row * spec.shape[1];
  }

  void next(std::span<float> x) {
    const int64_t begin = std::exchange(done_, done_ + std::ssize(x));
    switch (spec_.init) {
      case ParamSpec::Init::sinusoids:
        std::copy_n(table_.begin() + begin, x.size(), x.begin());
        return;
      case ParamSpec::Init::uniform:
        in_blocks(begin, x, kUniforms, [&](PhiloxStream& random) {
          return static_cast<float>(spec_.std * (2 * random.next_uniform() - 1));
        });
        return;
      case ParamSpec::Init::log_uniform:
        in_blocks(begin, x, kUniforms, [&](PhiloxStream& random) {
          constexpr double kLeast = 0.01;
          return static_cast<float>(
              std::log(kLeast + (spec_.std - kLeast) * random.next_uniform()));
        });
        return;
      case ParamSpec::Init::normal:
        in_blocks(begin, x, kNormals, [&](PhiloxStream& random) {
          return static_cast<float>(spec_.std * random.next_normal());
        });
        break;
      default:
        std::fill(x.begin(), x.end(),
                  spec_.init == ParamSpec::Init::ones ? static_cast<float>(spec_.ones) : 0.0f);
        return;
    }
    if (zero_begin_ < 0) return;
    const int64_t from = std::max(zero_begin_, begin),
                  to = std::min(zero_begin_ + spec_.shape[1], begin + std::ssize(x));
    for (int64_t i = from; i < to; ++i) x[static_cast<size_t>(i - begin)] = 0.0f;
  }

 private:
  static constexpr int64_t kNormals = 1, kUniforms = 2;  // numbers of a block of the generator
  static constexpr int64_t kPart = int64_t{1} << 16;     // numbers that are worth a thread

  // x = numbers `begin` and on, on all threads.
  template <class Next>
  void in_blocks(int64_t begin, std::span<float> x, int64_t numbers, Next next) {
    const int64_t parts = (std::ssize(x) + kPart - 1) / kPart;
    const auto fill = [&](int64_t first, int64_t last) {
      first = begin + first * kPart;
      last = std::min(begin + last * kPart, begin + std::ssize(x));
      PhiloxStream random(key_, static_cast<uint64_t>(first / numbers));
      for (int64_t skip = first % numbers; skip > 0; --skip) next(random);
      for (int64_t i = first; i < last; ++i) x[static_cast<size_t>(i - begin)] = next(random);
    };
    if (parts <= 1) return fill(0, parts);
    if (!threads_) threads_ = std::make_unique<ThreadPool>();
    threads_->parallel_for(parts, [&](int64_t first, int64_t last, int) { fill(first, last); });
  }

  const ParamSpec& spec_;
  DropoutKey key_;
  std::unique_ptr<ThreadPool> threads_;  // of a weight that is large
  std::vector<float> table_;
  int64_t done_ = 0, zero_begin_ = -1;
};

constexpr std::string_view kLengths = ".lora_magnitude_vector";  // of DoRA

constexpr int64_t kWhole = std::numeric_limits<int64_t>::max();  // a state in one block

// Elements of a whole weight that is in memory, turned to [out,in].
WeightReader reader_of(const std::vector<float>& x, const ParamSpec& spec) {
  return [&x, &spec](int64_t first, std::span<float> to) -> Status {
    for (int64_t i = 0; i < static_cast<int64_t>(to.size()); ++i)
      to[static_cast<size_t>(i)] = x[static_cast<size_t>(family_element(spec, first + i))];
    return Ok{};
  };
}

Status init_state(Session& session, const ParamSpec& spec, uint64_t seed) {
  FirstValues values(spec, seed);
  if (!spec.scheme.empty()) {
    std::vector<float> x(static_cast<size_t>(Type{DType::f32, spec.shape}.count()));
    values.next(x);
    return write_quantized(session, spec, reader_of(x, spec), "");
  }
  std::vector<float> wide;
  const auto fill = [&](std::span<std::byte> bytes) -> Status {
    if (session.state_type(spec.name).dtype == DType::bf16) {
      wide.resize(bytes.size() / sizeof(uint16_t));
      values.next(wide);
      convert(Stored::f32, reinterpret_cast<const std::byte*>(wide.data()), DType::bf16,
              bytes.data(), std::ssize(wide));
      return Ok{};
    }
    values.next({reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)});
    return Ok{};
  };
  return session.write_state(spec.name, {}, fill);
}

// Whether the head needs a new weight: the checkpoint has none, or one of another shape.
bool is_new(const WeightSource& weights, const ModelConfig& config, const ParamSpec& spec,
            const NewHead& head) {
  if (!spec.of_head) return false;
  const TensorInfo* t = find_weight(weights, config, spec);
  return t == nullptr || (head.replace_other_sizes && t->type.shape != spec.shape);
}

// A weight that the file has transposed, [out,in]: one matrix is in memory, of a stack too.
class TurnedWeight {
 public:
  TurnedWeight(const WeightSource& weights, const TensorInfo& t, const ParamSpec& spec)
      : weights_(weights), tensor_(t), spec_(spec) {
    const size_t last = spec.shape.size() - 1;
    each_ = spec.shape[last] * spec.shape[last - 1];
  }
  Status operator()(int64_t first, std::span<float> to) {
    for (int64_t i = 0; i < std::ssize(to); ++i) {
      const int64_t at = family_element(spec_, first + i), stack = at / each_;
      if (stack != held_) HONE_TRY(hold(stack));
      to[static_cast<size_t>(i)] = matrix_[static_cast<size_t>(at - stack * each_)];
    }
    return Ok{};
  }

 private:
  Status hold(int64_t stack) {
    matrix_.resize(static_cast<size_t>(each_));
    HONE_TRY(weights_.read_range(tensor_.name, DType::f32, stack * each_,
                                 std::as_writable_bytes(std::span(matrix_))));
    held_ = stack;
    return Ok{};
  }

  const WeightSource& weights_;
  const TensorInfo& tensor_;
  const ParamSpec& spec_;
  std::vector<float> matrix_;
  int64_t each_ = 0, held_ = -1;
};

// Reads a weight in blocks: as stored; else in parts, matrix by matrix if the file has it transposed.
Status read_in_blocks(Session& session, const WeightSource& weights, const TensorInfo& t,
                      const ParamSpec& spec) {
  if (t.blocks == spec.scheme && t.nested == spec.nested)
    return copy_blocks(session, spec, weights, t);
  if (spec.in_out) return write_quantized(session, spec, TurnedWeight(weights, t, spec), t.file);
  const auto read = [&](int64_t first, std::span<float> to) {
    return weights.read_range(t.name, DType::f32, first, std::as_writable_bytes(to));
  };
  return write_quantized(session, spec, read, t.file);
}

// The i8 matrix of the state and its scales (passes/store_weights.h).
Status read_quantized(Session& session, const WeightSource& weights, const TensorInfo& t,
                      const ParamSpec& spec) {
  std::vector<float> x(static_cast<size_t>(t.type.count()));
  HONE_TRY(weights.read(t.name, DType::f32, std::as_writable_bytes(std::span(x))));
  const bool rows = session.has_state(row_scales_name(spec.name));
  std::vector<float> scales(static_cast<size_t>(spec.shape[rows ? 0 : 1]));
  const auto quantize = [&](std::span<std::byte> q) -> Status {
    quantize_absmax(x, spec.shape[1], rows, reinterpret_cast<int8_t*>(q.data()), scales);
    return Ok{};
  };
  HONE_TRY(session.write_state(spec.name, {}, quantize, kWhole));
  session.write_state(rows ? row_scales_name(spec.name) : column_scales_name(spec.name),
                      std::as_bytes(std::span(scales)));
  return Ok{};
}

}  // namespace

void quantize_absmax(std::span<const float> x, int64_t columns, bool by_rows, int8_t* q,
                     std::span<float> scales) {
  const auto width = static_cast<size_t>(columns);
  auto scale_of = [&](size_t i) -> float& { return scales[by_rows ? i / width : i % width]; };
  std::fill(scales.begin(), scales.end(), 0.0f);
  for (size_t i = 0; i < x.size(); ++i) scale_of(i) = std::max(scale_of(i), std::fabs(x[i]));
  for (float& s : scales) s /= 127;
  for (size_t i = 0; i < x.size(); ++i) {
    const float r = scale_of(i) > 0 ? std::nearbyint(x[i] / scale_of(i)) : 0.0f;
    q[i] = static_cast<int8_t>(r >= -127 && r <= 127 ? r : 0);  // not a number: 0
  }
}

const TensorInfo* find_weight(const WeightSource& weights, const ModelConfig& config,
                              const ParamSpec& spec) {
  std::vector<std::string> names{spec.name};
  for (std::string& other : family_of(config).other_names(config, spec))
    names.push_back(std::move(other));
  for (const std::string& wrapper : {std::string(), std::string(kWrapper)})
    for (const std::string& known : names)
      if (const TensorInfo* found = weights.find(wrapper + known)) return found;
  return nullptr;
}

std::vector<StackedTensor> stacked_tensors(const ModelConfig& config) {
  std::vector<StackedTensor> all;
  std::set<std::string> names;
  for (const ParamSpec& spec : family_of(config).params(config)) {
    if (!is_stacked(spec.name)) continue;
    std::vector<std::string> known = family_of(config).other_names(config, spec);
    known.insert(known.begin(), spec.name);
    for (const std::string& wrapper : {std::string(), std::string(kWrapper)})
      for (const std::string& name : known) {
        if (!names.insert(wrapper + name).second) continue;
        StackedTensor s{wrapper + name};
        if (name == spec.name && !spec.merged.name.empty())
          s = {s.name, wrapper + spec.merged.name, spec.merged.part, spec.merged.parts};
        all.push_back(std::move(s));
      }
  }
  return all;
}

Result<const TensorInfo*> require_weight(const WeightSource& weights, const ModelConfig& config,
                                         const ParamSpec& spec) {
  const TensorInfo* t = find_weight(weights, config, spec);
  const std::string file =
      weights.tensors().empty() ? "the checkpoint" : weights.tensors().front().file;
  if (t == nullptr) {
    std::vector<std::string> names;
    for (const TensorInfo& known : weights.tensors()) names.push_back(known.name);
    const std::string near = nearest_name(spec.name, names);
    return Error(err::kWeightMissing, fmt::format("the checkpoint has no weight '{}' {}", spec.name,
                                                  text_of(spec.shape)))
        .at(file)
        .todo(
            near.empty()
                ? std::string("check that config.json and the weights belong together")
                : fmt::format(
                      "the nearest name in it is '{}': do config.json and weights belong together?",
                      near));
  }
  if (t->type.shape != spec.shape) {
    const bool turned =
        spec.shape.size() == 2 && t->type.shape == Shape{spec.shape[1], spec.shape[0]};
    // A head that fits another number of labels than the data's.
    const bool counts_labels =
        reads_sequences(config.head) || config.head == Head::image_classification;
    const bool labels = counts_labels && spec.of_head && !t->type.shape.empty() &&
                        spec.shape[0] == config.labels && t->type.shape[0] != config.labels;
    if (labels)
      return Error(err::kWeightShape,
                   fmt::format("the checkpoint's head has {} outputs ('{}'), the labels are {}",
                               t->type.shape[0], t->name, config.labels))
          .at(t->file)
          .todo(
              "use data with the checkpoint's labels, or give the model a new head by "
              "--ignore_mismatched_sizes");
    return Error(err::kWeightShape,
                 fmt::format("weight '{}' is {} in the checkpoint; the config asks for {}", t->name,
                             text_of(t->type.shape), text_of(spec.shape)))
        .at(t->file)
        .todo(turned ? "the file holds the transpose: save it again with Transformers, which keeps "
                       "each family's orientation"
                     : "check the sizes in config.json: it and the weights must belong together");
  }
  return t;
}

std::optional<Error> missing_head(const WeightSource& weights, const ModelConfig& config,
                                  const std::string& flag) {
  std::vector<std::string> lines;
  for (const ParamSpec& spec : family_of(config).params(config)) {
    if (spec.part == ParamSpec::Part::added) continue;
    const TensorInfo* t = find_weight(weights, config, spec);
    if (t != nullptr ? t->type.shape == spec.shape : !spec.trained) continue;
    if (t != nullptr || !spec.of_head) return std::nullopt;
    lines.push_back(fmt::format("'{}' {} is missing", spec.name, text_of(spec.shape)));
  }
  if (lines.empty()) return std::nullopt;
  Error e(err::kWeightMissing,
          fmt::format("the model has no trained head '{}'{}", name_of(config.head),
                      flag.empty() ? "" : fmt::format(", which {} needs", flag)));
  e.at(weights.tensors().empty() ? "the checkpoint" : weights.tensors().front().file);
  for (std::string& line : lines) e.at(std::move(line));
  return std::move(e.todo(
      fmt::format("train it first (hone train {} --model_name_or_path ...), or name a model that "
                  "was trained on this task",
                  flag.empty() ? "--task ..." : flag)));
}

Status check_weights(const WeightSource& weights, const ModelConfig& config, const NewHead* head) {
  if (head == nullptr)
    if (std::optional<Error> e = missing_head(weights, config)) return std::move(*e);
  constexpr size_t kShown = 8;
  std::optional<Error> first;
  std::vector<std::string> lines;
  size_t missing = 0, others = 0;
  bool in_head_alone = true;  // another number of labels, which the first error names
  for (const ParamSpec& spec : family_of(config).params(config)) {
    if (head != nullptr && is_new(weights, config, spec, *head)) continue;
    if (spec.part == ParamSpec::Part::added) continue;
    const TensorInfo* t = find_weight(weights, config, spec);
    if (t == nullptr && !spec.trained) continue;
    if (t != nullptr && t->type.shape == spec.shape) continue;
    if (!first) first = require_weight(weights, config, spec).error();
    in_head_alone = in_head_alone && t != nullptr && spec.of_head;
    ++(t == nullptr ? missing : others);
    if (lines.size() == kShown) continue;
    lines.push_back(t == nullptr ? fmt::format("'{}' {} is missing", spec.name, text_of(spec.shape))
                                 : fmt::format("'{}' is {}, the config asks for {}", t->name,
                                               text_of(t->type.shape), text_of(spec.shape)));
  }
  if (missing + others == 0) return Ok{};
  if (missing + others == 1 || in_head_alone) return std::move(*first);
  std::vector<std::string> counts;
  if (missing > 0) counts.push_back(fmt::format("it lacks {} that the config asks for", missing));
  if (others > 0)
    counts.push_back(fmt::format("{} {} another shape", others, others == 1 ? "has" : "have"));
  Error e(missing > 0 ? err::kWeightMissing : err::kWeightShape,
          fmt::format("{} weights of the checkpoint do not fit: {}", missing + others,
                      join(counts, ", ")));
  for (const std::string& place : first->where()) e.at(place);
  for (std::string& line : lines) e.at(std::move(line));
  if (missing + others > kShown) e.at(fmt::format("and {} more", missing + others - kShown));
  return std::move(e.todo(first->remedy()));
}

std::vector<std::string> unused_weights(const WeightSource& weights, const ModelConfig& config) {
  const Family& family = family_of(config);
  std::set<std::string> known;  // with both sides of ties
  for (const ParamSpec& spec : family.params(config)) {
    known.insert(spec.name);
    for (std::string& other : family.other_names(config, spec)) known.insert(std::move(other));
  }
  std::vector<std::string> unused;
  for (const TensorInfo& t : weights.tensors())
    if (!known.contains(t.name) && !family.leaves_unread(t.name) &&
        !(t.name.starts_with(kWrapper) && known.contains(t.name.substr(kWrapper.size()))))
      unused.push_back(t.name);
  return unused;
}

std::vector<std::string> unused_layers(const WeightSource& weights, const ModelConfig& config) {
  const auto without_numbers = [](const std::string& name) {
    std::string kind;
    for (const char c : name)
      if (c < '0' || c > '9') kind += c;
    return kind;
  };
  std::set<std::string> used;
  for (const ParamSpec& spec : family_of(config).params(config))
    used.insert(without_numbers(spec.name));
  std::vector<std::string> names = unused_weights(weights, config);
  std::erase_if(names, [&](const auto& name) { return !used.contains(without_numbers(name)); });
  return names;
}

std::string new_weights_text(const Pretrained& model, const NewHead& head) {
  if (head.names.empty()) return "";
  std::vector<std::string> names = head.names;
  std::sort(names.begin(), names.end());
  return fmt::format(
      "Some weights of {} were not initialized from the model checkpoint at {} and are newly "
      "initialized: ['{}']\nYou should probably TRAIN this model on a down-stream task to be able "
      "to use it for predictions and inference.",
      architecture_of(model.config), model.name, join(names, "', '"));
}

const TensorInfo* find_adapter_weight(const WeightSource& adapter, const ParamSpec& spec) {
  const TensorInfo* t = adapter.find(spec.name);
  if (spec.part != ParamSpec::Part::saved) return t;
  for (const std::string& other : spec.also)
    if (t == nullptr) t = adapter.find(kAdapterPrefix + other);
  return t;
}

std::map<std::string, std::vector<std::string>> names_in_modules(const ModelConfig& config) {
  std::map<std::string, std::vector<std::string>> all;
  const Family& family = family_of(config);
  for (const ParamSpec& spec : family.params(config)) {
    std::vector<std::string>& names = all[spec.name];
    names = family.other_names(config, spec);
    if (!config.adapter || !spec.of_adapter()) continue;
    const size_t last = spec.name.rfind('.');
    if (spec.name.ends_with(kLengths))
      names.push_back(spec.name + ".default.weight");
    else if (spec.part != ParamSpec::Part::saved)
      names.push_back(spec.name.substr(0, last) + ".default" + spec.name.substr(last));
    else  // the module that is trained whole may be any part of the name
      for (size_t dot = spec.name.find('.'); dot != spec.name.npos;
           dot = spec.name.find('.', dot + 1))
        names.push_back(spec.name.substr(0, dot) + ".modules_to_save.default" +
                        spec.name.substr(dot));
  }
  return all;
}

Status check_adapter_weights(const WeightSource& adapter, const Pretrained& model) {
  const auto misfit = [&](std::string what) {
    return Error(err::kBadAdapter, std::move(what))
        .at(adapter.tensors().empty() ? model.name : adapter.tensors()[0].file)
        .todo("name the model and the adapter that belong together");
  };
  std::set<std::string> asked;
  for (const ParamSpec& spec : family_of(model.config).params(model.config)) {
    if (!spec.of_adapter()) continue;
    asked.insert(spec.name);
    if (spec.part == ParamSpec::Part::saved)  // PEFT saves a tie under all its names
      for (const std::string& other : spec.also) asked.insert(kAdapterPrefix + other);
    const TensorInfo* t = find_adapter_weight(adapter, spec);
    if (t == nullptr) return misfit(fmt::format("the adapter has no '{}'", spec.name));
    if (t->type.shape != spec.shape)
      return misfit(fmt::format("the adapter's '{}' is {}, the model asks for {}", spec.name,
                                text_of(t->type.shape), text_of(spec.shape)));
  }
  for (const TensorInfo& t : adapter.tensors())
    if (!asked.contains(t.name) && t.name.find(".lora_embedding_") != t.name.npos)
      return misfit(fmt::format("the adapter adapts an embedding ('{}'), which is not supported",
                                t.name))
          .todo("merge it into its model with PEFT's merge_and_unload");
    else if (!asked.contains(t.name))
      return misfit(fmt::format("the adapter's '{}' belongs to no layer of the model", t.name));
  return Ok{};
}

namespace {

// Those of the weight's rows, as the adapter's B begins as zeros.
void init_lengths(Session& session, const ModelConfig& config, const ParamSpec& spec) {
  const size_t prefix = std::string_view(kAdapterPrefix).size();
  const std::string weight =
      spec.name.substr(prefix, spec.name.size() - prefix - kLengths.size()) + ".weight";
  const std::vector<ParamSpec> params = family_of(config).params(config);
  const auto of = std::find_if(params.begin(), params.end(),
                               [&](const ParamSpec& p) { return p.name == weight; });
  HONE_BUG_IF(of == params.end(), "no weight '{}' beside its lengths", weight);
  const std::vector<float> w = weight_values(session, *of);
  const auto columns = static_cast<size_t>(of->shape[1]);
  std::vector<double> squares(static_cast<size_t>(spec.shape[0]));
  for (size_t i = 0; i < w.size(); ++i)
    squares[of->in_out ? i % columns : i / columns] +=
        static_cast<double>(w[i]) * static_cast<double>(w[i]);
  std::vector<float> lengths;
  for (const double s : squares) lengths.push_back(static_cast<float>(std::sqrt(s)));
  session.write_state(spec.name, std::as_bytes(std::span(lengths)));
}

}  // namespace

Status load_adapter(Session& session, const Pretrained& model) {
  if (!model.config.adapter) return Ok{};
  if (model.adapter) HONE_TRY(check_adapter_weights(*model.adapter, model));
  for (const ParamSpec& spec : family_of(model.config).params(model.config)) {
    if (!spec.of_adapter() || !session.has_state(spec.name)) continue;
    if (!model.adapter) {
      if (spec.name.ends_with(kLengths))
        init_lengths(session, model.config, spec);
      else if (spec.part == ParamSpec::Part::added)
        HONE_TRY(init_state(session, spec, model.config.adapter->seed));
      continue;
    }
    const TensorInfo* t = find_adapter_weight(*model.adapter, spec);
    if (session.state_type(spec.name).dtype == DType::i8)
      HONE_TRY(read_quantized(session, *model.adapter, *t, spec));
    else
      HONE_TRY(load_state(session, spec.name, *model.adapter, t->name));
  }
  return model.config.adapter->first ? take_principal_parts(session, model.config) : Status(Ok{});
}

Status load_weights(Session& session, const Pretrained& model, std::vector<std::string>* unused,
                    NewHead* head) {
  HONE_BUG_IF(model.weights == nullptr, "load_weights: the model was opened without weights");
  HONE_TRY(check_weights(*model.weights, model.config, head));
  for (const ParamSpec& spec : family_of(model.config).params(model.config)) {
    if (spec.part == ParamSpec::Part::added) continue;
    if (head != nullptr && is_new(*model.weights, model.config, spec, *head)) {
      head->names.push_back(spec.part == ParamSpec::Part::saved ? spec.also.front() : spec.name);
      if (session.has_state(spec.name)) HONE_TRY(init_state(session, spec, head->seed));
      continue;
    }
    if (!spec.trained && find_weight(*model.weights, model.config, spec) == nullptr) {
      if (session.has_state(spec.name)) HONE_TRY(init_state(session, spec, 0));
      continue;
    }
    const TensorInfo* t = HONE_TRY(require_weight(*model.weights, model.config, spec));
    if (!session.has_state(spec.name)) continue;
    if (!spec.scheme.empty()) {
      HONE_TRY(read_in_blocks(session, *model.weights, *t, spec));
      continue;
    }
    const Type kept = session.state_type(spec.name);
    HONE_BUG_IF(kept.shape != spec.shape, "state '{}' is {}", spec.name, kept.text());
    if (kept.dtype == DType::i8)
      HONE_TRY(read_quantized(session, *model.weights, *t, spec));
    else
      HONE_TRY(load_state(session, spec.name, *model.weights, t->name));
    if (const NotFinite bad = session.count_not_finite(spec.name); bad.count > 0)
      return Error(
                 err::kWeightNotFinite,
                 fmt::format("the weight '{}' holds {} of {} values that are not finite, the first "
                             "at index {}",
                             t->name, bad.count, bad.elements, bad.first))
          .at(model.name)
          .todo("take a checkpoint from before the training broke, or fetch the file again");
  }
  if (unused != nullptr) *unused = unused_weights(*model.weights, model.config);
  fill_constants(session, model.config);
  return load_adapter(session, model);
}

void fill_constants(Session& session, const ModelConfig& config) {
  for (const ConstantTable& t : family_of(config).constants(config)) {
    if (session.has_state(t.name)) session.write_state(t.name, std::as_bytes(std::span(t.values)));
  }
}

Status init_weights(Session& session, const ModelConfig& config, uint64_t seed) {
  for (const ParamSpec& spec : family_of(config).params(config)) {
    if (!session.has_state(spec.name)) continue;
    HONE_TRY(init_state(session, spec, seed));
  }
  fill_constants(session, config);
  return Ok{};
}

}  // namespace hone

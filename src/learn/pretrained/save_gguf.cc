// A model as one GGUF file with the keys, names and element formats of llama.cpp's converter.
#include <algorithm>
#include <cmath>

#include "learn/checkpoint/gguf/errors.h"
#include "learn/checkpoint/gguf/gguf_weights.h"
#include "learn/checkpoint/gguf/gguf_writer.h"
#include "learn/pretrained/pretrained.h"
#include "learn/pretrained/weights.h"
#include "learn/tokenizers/load/load.h"

namespace hone {
namespace {

constexpr const char* kRopeFactors = "rope_freqs.weight";

struct FileType {
  const char* name;  // of --outtype
  const char* format;
  int64_t number;  // general.file_type
};
constexpr FileType kFileTypes[] = {
    {"f32", "F32", 0}, {"f16", "F16", 1}, {"q8_0", "Q8_0", 7}, {"bf16", "BF16", 32}};

Result<std::string> architecture(const ModelConfig& c) {
  const bool known =
      c.family == "gpt2" || c.family == "llama" || c.family == "mistral" || c.family == "qwen2";
  if (known && c.head == Head::causal_lm) return c.family == "mistral" ? "llama" : c.family;
  return Error(
             err::kGgufUnsupported,
             fmt::format("a model of the kind {} has no place in a GGUF file", architecture_of(c)))
      .todo(
          "hone writes gpt2, llama, mistral and qwen2 with the head of causal language models; "
          "name a folder for the others");
}

// How much each rotary frequency is divided by; empty: by nothing. Linear scaling has keys.
std::vector<float> rope_factors(const ModelConfig& c, double theta) {
  std::vector<float> factors;
  for (const ConstantTable& table : family_of(c).constants(c)) {
    if (table.name != "rope.inv_freq") continue;
    for (size_t i = 0; i < table.values.size(); ++i) {
      const double plain =
          std::pow(theta, -static_cast<double>(i) / static_cast<double>(table.values.size()));
      factors.push_back(static_cast<float>(plain / static_cast<double>(table.values[i])));
    }
  }
  return factors;
}

struct Rope {
  double theta = 10000;
  double linear = 1;           // all frequencies are divided by it
  std::vector<float> factors;  // each by its own
};
Rope rope_of(const ModelConfig& c) {
  Rope rope;
  rope.theta = c.real("rope_theta", rope.theta);
  std::string type;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto it = c.config.find(key);
    if (it == c.config.end() || !it->is_object()) continue;
    rope.theta = it->value("rope_theta", rope.theta);
    type = it->value("rope_type", it->value("type", std::string()));
    if (type == "linear") rope.linear = it->value("factor", 1.0);
  }
  if (type == "llama3") rope.factors = rope_factors(c, rope.theta);
  return rope;
}

Result<GgufMetadata> metadata_of(const Pretrained& model, const std::string& arch, const Rope& rope,
                                 const FileType& type) {
  const ModelConfig& c = model.config;
  GgufMetadata m;
  m.emplace_back("general.architecture", arch);
  m.emplace_back("general.type", std::string("model"));
  // Readers of Transformers know a Mistral by its name.
  m.emplace_back("general.name", c.family);
  m.emplace_back("general.file_type", type.number);
  m.emplace_back("general.quantization_version", int64_t{2});
  const auto put = [&](const char* key, GgufValue value) {
    m.emplace_back(arch + "." + key, std::move(value));
  };
  put("context_length", c.max_positions);
  put("embedding_length", c.hidden);
  put("block_count", c.layers);
  put("attention.head_count", c.heads);
  if (arch == "gpt2") {
    put("feed_forward_length", HONE_TRY(c.integer("n_inner", 4 * c.hidden)));
    put("attention.layer_norm_epsilon", c.real("layer_norm_epsilon", 1e-5));
  } else {
    put("vocab_size", c.vocab);
    put("feed_forward_length", HONE_TRY(c.integer("intermediate_size")));
    put("attention.head_count_kv", c.kv_heads);
    put("attention.layer_norm_rms_epsilon", c.real("rms_norm_eps", 1e-6));
    put("rope.dimension_count", c.head_dim);
    put("rope.freq_base", rope.theta);
    if (c.head_dim * c.heads != c.hidden) {
      put("attention.key_length", c.head_dim);
      put("attention.value_length", c.head_dim);
    }
    if (rope.linear != 1) {
      put("rope.scaling.type", std::string("linear"));
      put("rope.scaling.factor", rope.linear);
    }
    if (c.window > 0) put("attention.sliding_window", c.window);
  }
  if (!model.tokenizer) return m;
  const GgufVocab v = HONE_TRY(gguf_vocab(*model.tokenizer, c.vocab));
  const auto put_token = [&](const char* key, GgufValue value) {
    m.emplace_back(std::string("tokenizer.ggml.") + key, std::move(value));
  };
  put_token("model", v.model);
  put_token("pre", v.pre);
  put_token("tokens", v.tokens);
  if (!v.scores.empty()) put_token("scores", std::vector<double>(v.scores.begin(), v.scores.end()));
  put_token("token_type", std::vector<int64_t>(v.types.begin(), v.types.end()));
  if (!v.merges.empty()) put_token("merges", v.merges);
  for (const auto& [key, id] : {std::pair{"bos_token_id", v.bos},
                                {"eos_token_id", v.eos},
                                {"unknown_token_id", v.unk},
                                {"padding_token_id", v.pad}})
    if (id >= 0) put_token(key, id);
  put_token("add_bos_token", *v.add_bos);
  put_token("add_eos_token", *v.add_eos);
  if (v.add_space_prefix) put_token("add_space_prefix", *v.add_space_prefix);
  if (!v.chat_template.empty()) m.emplace_back("tokenizer.chat_template", v.chat_template);
  return m;
}

// Vectors and the table of positions stay f32; rows of broken blocks become f16.
const GgmlFormat* format_of(const std::string& name, const Shape& shape, const FileType& type) {
  if (shape.size() < 2 || name.starts_with("position_embd")) return ggml_format("F32");
  const GgmlFormat* wanted = ggml_format(type.format);
  return shape.back() % wanted->block == 0 ? wanted : ggml_format("F16");
}

// From Transformers' order of elements to ggml's.
void reorder(const ModelConfig& c, const std::string& arch, const std::string& hf_name,
             const Shape& shape, std::vector<float>& from, std::span<float> to) {
  const int64_t columns = shape.size() < 2 ? 1 : shape.back();
  const auto rows = static_cast<int64_t>(to.size()) / columns;  // of `to`
  const bool turned = is_turned(arch, hf_name);
  const bool q = hf_name.find(".q_proj.") != std::string::npos,
             k = hf_name.find(".k_proj.") != std::string::npos;
  const int64_t heads = arch == "llama" && (q || k) ? (q ? c.heads : c.kv_heads) : 0;
  for (int64_t r = 0; r < rows; ++r) {
    if (turned) {
      for (int64_t i = 0; i < columns; ++i)
        to[static_cast<size_t>(r * columns + i)] = from[static_cast<size_t>(i * rows + r)];
      continue;
    }
    const int64_t source = heads > 0 ? hf_row_of(rows / heads, r) : r;
    std::copy_n(from.begin() + source * columns, columns, to.begin() + r * columns);
  }
}

}  // namespace

Status save_gguf(const std::string& path, const WeightSource& weights, const Pretrained& model,
                 const std::string& outtype) {
  const ModelConfig& c = model.config;
  const std::string arch = HONE_TRY(architecture(c));
  const FileType* type = std::find_if(std::begin(kFileTypes), std::end(kFileTypes),
                                      [&](const FileType& t) { return outtype == t.name; });
  HONE_BUG_IF(type == std::end(kFileTypes), "a GGUF file of {}", outtype);
  const Rope rope = rope_of(c);
  const GgufMetadata metadata = HONE_TRY(metadata_of(model, arch, rope, *type));
  std::vector<GgufOutput> outputs;
  std::vector<std::string> names, sources;  // beside them
  for (const ParamSpec& spec : family_of(c).params(c)) {
    const TensorInfo* t = HONE_TRY(require_weight(weights, c, spec));
    const std::string name = ggml_name_of(arch, spec.name);
    if (name.empty())
      return Error(err::kGgufUnsupported,
                   fmt::format("'{}' has no place in a GGUF file of {}", spec.name, arch))
          .todo("name a folder in place of the file");
    Shape shape = spec.shape;
    if (is_turned(arch, spec.name)) std::swap(shape[0], shape[1]);
    outputs.push_back({name, shape, format_of(name, shape, *type)});
    names.push_back(spec.name);
    sources.push_back(t->name);
  }
  if (!rope.factors.empty())
    outputs.push_back(
        {kRopeFactors, {static_cast<int64_t>(rope.factors.size())}, ggml_format("F32")});
  std::vector<float> values;
  return save_gguf(path, metadata, outputs, [&](size_t i, std::span<float> out) -> Status {
    if (i == names.size()) {
      std::copy(rope.factors.begin(), rope.factors.end(), out.begin());
      return Ok{};
    }
    values.resize(out.size());
    HONE_TRY(weights.read(sources[i], DType::f32, std::as_writable_bytes(std::span(values))));
    reorder(c, arch, names[i], outputs[i].shape, values, out);
    return Ok{};
  });
}

}  // namespace hone

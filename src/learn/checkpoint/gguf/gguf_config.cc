// config.json from GGUF metadata. Keys and values follow Transformers 5.23 (GGUF_CONFIG_MAPPING and
// load_gguf_checkpoint); floats are the file's f32 widened, so rms_norm_eps
// reads 9.999999747378752e-06.
#include <cmath>
#include <numbers>

#include "learn/checkpoint/gguf/errors.h"
#include "learn/checkpoint/gguf/gguf_weights.h"

namespace hone {
namespace {

struct ConfigRule {
  const char* gguf;
  const char* hf;
};

constexpr int64_t kMostOfASize = int64_t{1} << 40;  // products of two sizes stay in 64 bits

constexpr ConfigRule kLlama[] = {{"context_length", "max_position_embeddings"},
                                 {"block_count", "num_hidden_layers"},
                                 {"feed_forward_length", "intermediate_size"},
                                 {"embedding_length", "hidden_size"},
                                 {"rope.dimension_count", "head_dim"},
                                 {"rope.freq_base", "rope_theta"},
                                 {"attention.head_count", "num_attention_heads"},
                                 {"attention.head_count_kv", "num_key_value_heads"},
                                 {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
                                 {"vocab_size", "vocab_size"}};
constexpr ConfigRule kGpt2[] = {
    {"block_count", "n_layer"},         {"context_length", "n_ctx"},
    {"embedding_length", "n_embd"},     {"feed_forward_length", "feed_forward_length"},
    {"attention.head_count", "n_head"}, {"attention.layer_norm_epsilon", "layer_norm_epsilon"}};
constexpr ConfigRule kTokens[] = {{"bos_token_id", "bos_token_id"},
                                  {"eos_token_id", "eos_token_id"},
                                  {"unknown_token_id", "unk_token_id"},
                                  {"padding_token_id", "pad_token_id"}};

bool is_real(std::string_view key) {
  return key == "rope_theta" || key == "rms_norm_eps" || key == "layer_norm_epsilon";
}

// A per-layer list of equal sizes counts as that size.
Json scalar(const GgufValue& v) {
  if (const auto* x = std::get_if<int64_t>(&v)) return *x;
  if (const auto* x = std::get_if<double>(&v)) return *x;
  if (const auto* x = std::get_if<std::vector<int64_t>>(&v))
    if (!x->empty() &&
        std::all_of(x->begin(), x->end(), [&](int64_t e) { return e == x->front(); }))
      return x->front();
  return {};
}

// The factors that Llama 3 divides its rotary frequencies by, as llama.cpp's converter writes them
// (rope_freqs.weight); false when `factors` are others. Formula: Transformers' llama3 rope_type.
bool is_llama3(std::span<const float> factors, double theta, double factor) {
  const double old = 8192, low = 1, high = 4;
  const double n = static_cast<double>(factors.size());
  for (size_t i = 0; i < factors.size(); ++i) {
    const double wavelength = 2 * std::numbers::pi * std::pow(theta, static_cast<double>(i) / n);
    double want = factor;
    if (wavelength < old / high)
      want = 1;
    else if (wavelength <= old / low) {
      const double smooth = (old / wavelength - low) / (high - low);
      want = 1 / ((1 - smooth) / factor + smooth);
    }
    if (std::abs(static_cast<double>(factors[i]) - want) > 1e-3 * want) return false;
  }
  return true;
}

Status add_rope(Json& config, const GgufFile& gguf, const ByteFile& file, const std::string& arch) {
  const auto unsupported = [&](std::string what) {
    return Error(err::kGgufUnsupported, fmt::format("'{}': {}", file.path(), what))
        .todo(
            "use the model's safetensors checkpoint: its config.json has the scaling of positions");
  };
  const auto* type = gguf.get<std::string>(arch + ".rope.scaling.type");
  if (type != nullptr && *type != "none") {
    const auto* factor = gguf.get<double>(arch + ".rope.scaling.factor");
    if (*type != "linear" || factor == nullptr)
      return unsupported(fmt::format("its rotary positions are scaled by '{}'", *type));
    config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", *factor}};
  }
  for (const GgufTensor& t : gguf.tensors) {
    if (t.name != "rope_freqs.weight") continue;
    std::vector<float> factors(static_cast<size_t>(t.bytes / 4));
    if (t.format->name == "F32")
      HONE_TRY(file.read_at(t.offset, std::as_writable_bytes(std::span(factors))));
    const double most = factors.empty() ? 0 : *std::max_element(factors.begin(), factors.end());
    if (t.format->name != "F32" || most < 1 ||
        !is_llama3(factors, config.value("rope_theta", 10000.0), most))
      return unsupported("its rope_freqs.weight is not the scaling of Llama 3");
    if (most > 1)
      config["rope_scaling"] = {{"rope_type", "llama3"},
                                {"factor", most},
                                {"low_freq_factor", 1.0},
                                {"high_freq_factor", 4.0},
                                {"original_max_position_embeddings", 8192}};
  }
  return Ok{};
}

}  // namespace

Result<Json> gguf_config(const GgufFile& gguf, const ByteFile& file) {
  const auto* arch = gguf.get<std::string>("general.architecture");
  if (arch == nullptr)
    return Error(err::kGgufDamaged,
                 fmt::format("'{}': general.architecture is missing", file.path()))
        .todo("convert or download the file again");
  if (*arch != "llama" && *arch != "qwen2" && *arch != "gpt2")
    return Error(err::kGgufUnsupported,
                 fmt::format("'{}' holds a model of architecture '{}'", file.path(), *arch))
        .todo(
            "hone reads GGUF of llama (with Mistral), qwen2 and gpt2; for others use the "
            "safetensors checkpoint");
  const bool gpt2 = *arch == "gpt2";
  const auto* name = gguf.get<std::string>("general.name");
  const bool mistral = *arch == "llama" && name != nullptr && *name == "mistral";

  Json config = Json::object();
  config["model_type"] = mistral ? "mistral" : *arch;
  config["architectures"] = {gpt2               ? "GPT2LMHeadModel"
                             : mistral          ? "MistralForCausalLM"
                             : *arch == "qwen2" ? "Qwen2ForCausalLM"
                                                : "LlamaForCausalLM"};
  if (name != nullptr) config["_model_name_or_path"] = *name;
  const auto has = [&](const std::string& tensor) {
    return std::any_of(gguf.tensors.begin(), gguf.tensors.end(),
                       [&](const GgufTensor& t) { return t.name == tensor; });
  };
  config["tie_word_embeddings"] = !has("output.weight");
  const auto take = [&](const std::string& prefix, std::span<const ConfigRule> rules) {
    for (const ConfigRule& r : rules)
      if (const auto it = gguf.metadata.find(prefix + r.gguf); it != gguf.metadata.end())
        if (Json v = scalar(it->second); v.is_number_float() == is_real(r.hf) && !v.is_null())
          config[r.hf] = std::move(v);
  };
  take(*arch + ".", gpt2 ? std::span<const ConfigRule>(kGpt2) : kLlama);
  if (*arch == "qwen2") config.erase("head_dim");
  take("tokenizer.ggml.", kTokens);
  if (!config.contains("vocab_size"))
    if (const auto* tokens = gguf.get<std::vector<std::string>>("tokenizer.ggml.tokens"))
      config["vocab_size"] = static_cast<int64_t>(tokens->size());

  for (const char* key : gpt2
                             ? std::vector<const char*>{"n_layer", "n_embd", "n_head", "n_ctx"}
                             : std::vector<const char*>{"num_hidden_layers", "hidden_size",
                                                        "intermediate_size", "num_attention_heads"})
    if (!config.contains(key) || !config[key].is_number_integer() ||
        config[key].get<int64_t>() < 1 || config[key].get<int64_t>() > kMostOfASize)
      return Error(err::kGgufDamaged,
                   fmt::format("'{}': its metadata give no usable {}", file.path(), key))
          .todo("convert the model again");
  if (gpt2) {
    config["n_positions"] = config["n_ctx"];
    const int64_t inner = config.value("feed_forward_length", int64_t{0});
    if (inner > 0 && inner != 4 * config["n_embd"].get<int64_t>()) config["n_inner"] = inner;
  } else {
    if (*arch == "llama" && has("blk.0.attn_q.bias")) config["attention_bias"] = true;
    HONE_TRY(add_rope(config, gguf, file, *arch));
  }
  return config;
}

Result<Json> gguf_config(const std::string& path) {
  const auto file = HONE_TRY(open_byte_file(path));
  const GgufFile gguf = HONE_TRY(read_gguf(*file));
  return gguf_config(gguf, *file);
}

}  // namespace hone

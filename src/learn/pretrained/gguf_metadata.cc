#include "learn/pretrained/gguf_metadata.h"

#include <algorithm>
#include <cmath>

#include "learn/checkpoint/gguf/errors.h"
#include "learn/checkpoint/gguf/gguf_weights.h"
#include "learn/models/rotation.h"
#include "learn/pretrained/gguf_modules.h"
#include "learn/pretrained/sentence_modules.h"
#include "learn/tokenizers/load/load.h"

namespace hone {
namespace {

constexpr const char *kKeyLength = "attention.key_length", *kValueLength = "attention.value_length",
                     *kWindow = "attention.sliding_window", *kOfTokenizer = "tokenizer.ggml.";

// The model is one that classifies sequences, with a head that files of the type have.
bool classifies_in(const GgufLayout& layout, const ModelConfig& c) {
  return c.head == Head::sequence_classification && !layout.classifier.empty();
}

// Divisors of the rotary frequencies; empty: none. Linear scaling has keys.
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
// theta of the plain rotation with the frequencies of rope_type 'dynamic', as llama.cpp's converter writes it.
double theta_of_dynamic(const nlohmann::json& p, int64_t turned) {
  const auto size = static_cast<double>(turned);
  return p["rope_theta"].get<double>() *
         std::pow(p["alpha"].get<double>(), size / std::max(size - 2, 1.0));
}

// Whether llama.cpp scales sines and cosines of this yarn in the same way: by mscale_all_dim beside an mscale of 1,
// or by the usual rule.
bool is_usual_yarn(const ModelConfig& c, const GgufLayout& layout, nlohmann::json p) {
  if (!p.contains("factor") || p.value("mscale", 1.0) != 1.0) return false;
  if (p.value("truncate", true) == layout.blends_yarn) return false;
  const double given = rope_scaling(c, p);
  p.erase("attention_factor");
  return std::abs(given - rope_scaling(c, p)) <= 1e-6 * given;
}

// The value of a key that a layout names.
Result<GgufValue> value_of(const GgufKey& key, const ModelConfig& c, const GgufLayout& layout,
                           const GgufRope& rope) {
  const std::string& name = key.gguf;
  if (key.flags != nullptr) return GgufValue(key.flags(c));
  if (key.values != nullptr) {
    std::vector<int64_t> values = key.values(c);
    return values.size() == 1 ? GgufValue(values[0]) : GgufValue(std::move(values));
  }
  if (key.real != nullptr) return GgufValue(key.real(c));
  if (name == "context_length") return GgufValue(c.max_positions);
  if (name == "embedding_length") return GgufValue(c.hidden);
  if (name == "block_count") return GgufValue(c.layers);
  if (name == "attention.head_count") return GgufValue(c.heads);
  if (name == "attention.head_count_kv") return GgufValue(c.kv_heads);
  if (name == "vocab_size") return GgufValue(c.vocab);
  if (name == "feed_forward_length")
    return GgufValue(HONE_TRY(c.integer(layout.inner, 4 * c.hidden)));
  if (name == "attention.layer_norm_epsilon")
    return GgufValue(c.real(key.config, key.usual > 0 ? key.usual : 1e-5));
  if (name == "attention.layer_norm_rms_epsilon") return GgufValue(c.real(key.config, 1e-6));
  if (name == "rope.freq_base") return GgufValue(rope.theta);
  if (name == "rope.dimension_count") return GgufValue(rope.turned);
  if (name == kKeyLength || name == kValueLength) return GgufValue(c.head_dim);
  if (name == kWindow) return GgufValue(c.window);
  HONE_BUG_IF(key.config.empty(), "nothing is known to write as {}.{}", layout.architecture, name);
  if (const auto it = c.config.find(key.config); it != c.config.end() && it->is_boolean())
    return GgufValue(it->get<bool>());
  else if (it != c.config.end() && it->is_string())
    return GgufValue(it->get<std::string>());
  if (key.is_real) return GgufValue(c.real(key.config, 0));
  return GgufValue(HONE_TRY(c.integer(key.config)));
}

using PutValue = std::function<void(const std::string& key, GgufValue value)>;

// The keys of a rotation that is scaled.
void put_scaling(const GgufRope& rope, const PutValue& put) {
  if (rope.linear != 1) {
    put("rope.scaling.type", std::string("linear"));
    put("rope.scaling.factor", rope.linear);
  }
  if (!rope.yarn.is_null()) {
    put("rope.scaling.type", std::string("yarn"));
    put("rope.scaling.factor", rope.yarn["factor"].get<double>());
    put("rope.scaling.original_context_length",
        rope.yarn["original_max_position_embeddings"].get<int64_t>());
    for (const auto& [key, name] : {std::pair{"rope.scaling.yarn_beta_fast", "beta_fast"},
                                    {"rope.scaling.yarn_beta_slow", "beta_slow"},
                                    {"rope.scaling.yarn_log_multiplier", "mscale_all_dim"},
                                    {"attention.temperature_scale", "llama_4_scaling_beta"}})
      if (rope.yarn.contains(name)) put(key, rope.yarn[name].get<double>());
  }
  if (rope.original > 0) {
    put("rope.scaling.type", std::string("longrope"));
    put("rope.scaling.original_context_length", rope.original);
    put("rope.scaling.attn_factor", rope.scaling);
  }
}

// tokenizer.*: the vocabulary.
Status put_vocabulary(const Pretrained& model, const GgufLayout& layout, GgufMetadata& m) {
  const auto put = [&](const char* key, GgufValue value) {
    m.emplace_back(kOfTokenizer + std::string(key), std::move(value));
  };
  const ModelConfig& c = model.config;
  const bool cut = !layout.after_padding.empty();
  if (!model.tokenizer) {
    if (cut) put("padding_token_id", c.padding_token);
    return Ok{};
  }
  const bool encoder = layout.head != Head::causal_lm;
  const GgufVocab v =
      HONE_TRY(gguf_vocab(*model.tokenizer, c.vocab, encoder, layout.sentencepiece));
  if ((cut && v.pad != c.padding_token) ||
      (!layout.tokenizer.empty() && layout.tokenizer != v.model))
    return Error(
               err::kGgufUnsupported,
               fmt::format("a file of {} has a vocabulary of the kind \"{}\" and the padding token "
                           "{}; the model's tokenizer is of the kind \"{}\" and has {}",
                           c.text("model_type", c.family), layout.tokenizer, c.padding_token,
                           v.model, v.pad))
        .todo("take the tokenizer's files from the same model");
  put("model", v.model);
  put("pre", v.pre);
  put("tokens", v.tokens);
  if (!v.scores.empty()) put("scores", std::vector<double>(v.scores.begin(), v.scores.end()));
  put("token_type", std::vector<int64_t>(v.types.begin(), v.types.end()));
  if (!v.merges.empty()) put("merges", v.merges);
  for (const auto& [key, id] : {std::pair{"bos_token_id", v.bos},
                                {"eos_token_id", v.eos},
                                {"unknown_token_id", v.unk},
                                {"seperator_token_id", v.sep},  // llama.cpp's spelling
                                {"padding_token_id", v.pad},
                                {"cls_token_id", v.cls},
                                {"mask_token_id", v.mask}})
    if (id >= 0) put(key, id);
  for (const auto& [key, flag] : {std::pair{"add_bos_token", v.add_bos},
                                  {"add_eos_token", v.add_eos},
                                  {"add_sep_token", v.add_sep},
                                  {"add_space_prefix", v.add_space_prefix},
                                  {"normalizer.lowercase", v.lowercase},
                                  {"normalizer.strip_accents", v.strip_accents}})
    if (flag) put(key, *flag);
  if (v.model == "t5") put("remove_extra_whitespaces", true);
  if (v.mask_lstrip) m.emplace_back(kMaskLstrip, *v.mask_lstrip);
  if (!v.charsmap.empty()) {
    std::vector<int64_t> bytes;
    for (const char byte : v.charsmap) bytes.push_back(static_cast<uint8_t>(byte));
    m.emplace_back(kByteList, std::move(bytes));
  }
  if (!v.chat_template.empty()) m.emplace_back("tokenizer.chat_template", v.chat_template);
  return Ok{};
}

// The labels of a head that classifies sequences, in the order of their numbers.
void put_classifier(const ModelConfig& c, const PutValue& put) {
  put("pooling_type", kRankPooling);
  std::vector<std::string> labels;
  const auto named = c.config.find("id2label");
  for (int64_t i = 0; i < c.labels; ++i) {
    const std::string usual = fmt::format("LABEL_{}", i);
    const bool given = named != c.config.end() && named->is_object();
    labels.push_back(given ? named->value(std::to_string(i), usual) : usual);
  }
  put(kOutputLabels, labels);
}

void put_classifier_keys(const ModelConfig& c, GgufMetadata& m) {
  Json keys;
  for (const char* key : kKeysOfClassifiers)
    if (const auto found = c.config.find(key); found != c.config.end() && !found->is_null())
      keys[key] = *found;
  if (!keys.is_null()) m.emplace_back(kClassifierKeys, dump_json(keys));
}

}  // namespace

Result<const GgufLayout*> gguf_layout_for(const ModelConfig& c) {
  const GgufLayout* layout = gguf_layout_of(c);
  if (layout != nullptr && (c.head == layout->head || classifies_in(*layout, c))) {
    const std::string why = layout->unwritable != nullptr ? layout->unwritable(c) : "";
    if (why.empty()) return layout;
    return Error(err::kGgufUnsupported,
                 fmt::format("llama.cpp has no {} like this model: {}", layout->architecture, why))
        .todo("name a folder in place of the file");
  }
  Error refused(
      err::kGgufUnsupported,
      fmt::format("a model of the kind {} has no place in a GGUF file", architecture_of(c)));
  if (layout != nullptr && layout->head == Head::none) {
    ModelConfig body = c;
    HONE_TRY(set_head(body, Head::none));
    return std::move(refused.todo(
        fmt::format("llama.cpp keeps the encoder alone: set \"architectures\" in config.json to "
                    "[\"{}\"], and the head is left out",
                    architecture_of(body))));
  }
  return std::move(refused.todo(fmt::format(
      "hone writes {}: encoders without a head or with one that classifies sequences, the "
      "others with the head of language models; name a folder for other models",
      gguf_type_names())));
}

Result<GgufRope> gguf_rope(const ModelConfig& c, const GgufLayout& layout) {
  GgufRope rope;
  RotationStyle style = layout.rotation;
  style.theta = c.real(style.theta_key, style.theta);
  const nlohmann::json p = rope_parameters(c, style);
  rope.theta = p["rope_theta"];
  for (const ConstantTable& table : family_of(c).constants(c))
    if (table.name == "rope.inv_freq") rope.turned = 2 * table.shape[0];
  const std::string type = p["rope_type"];
  if (type == "linear") rope.linear = p["factor"];
  if (type == "llama3") rope.factors = rope_factors(c, rope.theta);
  if (type == "longrope") {
    rope.shorter = p["short_factor"].get<std::vector<float>>();
    rope.longer = p["long_factor"].get<std::vector<float>>();
    rope.original = p["original_max_position_embeddings"];
    rope.scaling = rope_scaling(c, p);
  }
  if (layout.turns_by_factors)
    for (const ConstantTable& table : family_of(c).constants(c))
      if (table.name == "rope.inv_freq")
        for (const float x : table.values) rope.factors.push_back(x == 0 ? kNeverTurns : 1);
  if (type == "dynamic") rope.theta = theta_of_dynamic(p, rope.turned);
  if (type == "yarn" && is_usual_yarn(c, layout, p)) rope.yarn = p;
  if (type == "yarn" && rope.yarn.is_null())
    return Error(err::kGgufUnsupported,
                 fmt::format("hone does not write rope_type '{}' into a GGUF file", type))
        .todo("name a folder in place of the file, and convert it by llama.cpp");
  return rope;
}

Result<GgufMetadata> gguf_metadata(const Pretrained& model, const GgufLayout& layout,
                                   const GgufRope& rope, int64_t file_type) {
  const ModelConfig& c = model.config;
  GgufMetadata m;
  m.emplace_back("general.architecture", layout.architecture);
  m.emplace_back("general.type", std::string("model"));
  // Readers of Transformers know a Mistral by its name.
  m.emplace_back("general.name", c.text("model_type", c.family));
  m.emplace_back("general.file_type", file_type);
  m.emplace_back("general.quantization_version", int64_t{2});
  const auto put = [&](const std::string& key, GgufValue value) {
    m.emplace_back(layout.architecture + "." + key, std::move(value));
  };
  bool says_head_size = false, says_window = false;
  for (const GgufKey& key : layout.keys) {
    says_window = says_window || key.gguf == kWindow;
    says_head_size = says_head_size || key.gguf == kKeyLength;
    if (key.gguf == kWindow && key.values == nullptr && c.window == 0) continue;
    if (key.is_text && !c.config.contains(key.config)) continue;
    if (key.values != nullptr && key.values(c).empty()) continue;
    if (key.of_tokenizer) {
      m.emplace_back(kOfTokenizer + key.gguf, HONE_TRY(value_of(key, c, layout, rope)));
      continue;
    }
    if (key.is_real && !key.config.empty() && c.config.contains(key.config) &&
        c.config[key.config].is_null())
      continue;
    put(key.gguf, HONE_TRY(value_of(key, c, layout, rope)));
  }
  if (layout.rotates) {
    if (!says_head_size && c.head_dim * c.heads != c.hidden) {
      put(kKeyLength, c.head_dim);
      put(kValueLength, c.head_dim);
    }
    put_scaling(rope, put);
    if (c.window > 0 && !says_window) put(kWindow, c.window);
  }
  if (layout.head == Head::none) {
    put("attention.causal", false);
    if (classifies_in(layout, c))
      put_classifier(c, put);
    else if (const auto modules = HONE_TRY(read_sentence_modules(model.path)))
      for (auto& [key, value] : HONE_TRY(gguf_modules(*modules, layout.architecture)))
        m.emplace_back(key, std::move(value));
  }
  if (classifies_in(layout, c)) put_classifier_keys(c, m);
  HONE_TRY(put_vocabulary(model, layout, m));
  return m;
}

}  // namespace hone

// config.json from GGUF metadata. Keys and values follow Transformers 5.23 (GGUF_CONFIG_MAPPING and
// load_gguf_checkpoint); floats are the file's f32 widened, so rms_norm_eps
// reads 9.999999747378752e-06.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/core/text.h"
#include "learn/checkpoint/gguf/errors.h"
#include "learn/checkpoint/gguf/gguf_weights.h"

namespace hone {
namespace {

constexpr int64_t kMostOfASize = int64_t{1} << 40;  // products of two sizes stay in 64 bits
constexpr const char* kOfTokenizer = "tokenizer.ggml.";

const std::vector<GgufKey>& token_keys() {
  static const std::vector<GgufKey> keys = {{"bos_token_id", "bos_token_id"},
                                            {"eos_token_id", "eos_token_id"},
                                            {"unknown_token_id", "unk_token_id"},
                                            {"padding_token_id", "pad_token_id"}};
  return keys;
}

// A per-layer list of equal sizes counts as that size; layers with 0 do not have the part.
Json scalar(const GgufValue& v) {
  if (const auto* x = std::get_if<int64_t>(&v)) return *x;
  if (const auto* x = std::get_if<double>(&v)) return *x;
  if (const auto* x = std::get_if<bool>(&v)) return *x;
  if (const auto* x = std::get_if<std::vector<int64_t>>(&v); x != nullptr && !x->empty()) {
    const int64_t size = *std::max_element(x->begin(), x->end());
    if (std::all_of(x->begin(), x->end(), [&](int64_t e) { return e == size || e == 0; }))
      return size;
  }
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

// A list of f32 numbers in the file; empty: it has none, or of another type.
Result<std::vector<float>> numbers_of(const GgufFile& gguf, const ByteFile& file,
                                      const char* tensor) {
  for (const GgufTensor& t : gguf.tensors) {
    if (t.name != tensor || t.format->name != "F32") continue;
    std::vector<float> numbers(static_cast<size_t>(t.bytes / 4));
    HONE_TRY(file.read_at(t.offset, std::as_writable_bytes(std::span(numbers))));
    return numbers;
  }
  return std::vector<float>{};
}

// Phi-3's two lists of factors, with the original length and the scale of sines and cosines.
Status add_long_rope(Json& config, const GgufFile& gguf, const ByteFile& file,
                     const std::string& arch) {
  const auto shorter = HONE_TRY(numbers_of(gguf, file, kShortFactors)),
             longer = HONE_TRY(numbers_of(gguf, file, kLongFactors));
  const auto* original = gguf.get<int64_t>(arch + ".rope.scaling.original_context_length");
  if (shorter.empty() || longer.empty() || original == nullptr) return Ok{};
  config["rope_scaling"] = {
      {"rope_type", "longrope"}, {"short_factor", shorter}, {"long_factor", longer}};
  if (const auto* scale = gguf.get<double>(arch + ".rope.scaling.attn_factor"))
    config["rope_scaling"]["attention_factor"] = *scale;
  config["original_max_position_embeddings"] = *original;
  return Ok{};
}

// The keys of yarn; llama.cpp's yarn_log_multiplier is mscale_all_dim beside an mscale of 1.
void add_yarn(Json& config, const GgufFile& gguf, const std::string& arch) {
  Json rope = {{"rope_type", "yarn"}};
  const auto take = [&](const char* key, const char* name) {
    const std::string whole = fmt::format("{}.{}", arch, key);
    if (const auto* x = gguf.get<double>(whole)) rope[name] = *x;
    if (const auto* x = gguf.get<int64_t>(whole)) rope[name] = *x;
  };
  take("rope.scaling.factor", "factor");
  take("rope.scaling.original_context_length", "original_max_position_embeddings");
  take("rope.scaling.yarn_beta_fast", "beta_fast");
  take("rope.scaling.yarn_beta_slow", "beta_slow");
  take("rope.scaling.yarn_log_multiplier", "mscale_all_dim");
  take("attention.temperature_scale", "llama_4_scaling_beta");
  if (rope.contains("mscale_all_dim")) rope["mscale"] = 1.0;
  config["rope_scaling"] = std::move(rope);
}

Status add_rope(Json& config, const GgufFile& gguf, const ByteFile& file,
                const GgufLayout& layout) {
  const std::string& arch = layout.architecture;
  const auto unsupported = [&](std::string what) {
    return Error(err::kGgufUnsupported, fmt::format("'{}': {}", file.path(), what))
        .todo(
            "use the model's safetensors checkpoint: its config.json has the scaling of positions");
  };
  const auto* type = gguf.get<std::string>(arch + ".rope.scaling.type");
  if (type != nullptr && *type == "yarn" &&
      gguf.get<double>(arch + ".rope.scaling.yarn_attn_factor") == nullptr) {
    add_yarn(config, gguf, arch);
    if (layout.blends_yarn) config["rope_scaling"]["truncate"] = false;
  } else if (type != nullptr && *type != "none" && *type != "longrope") {
    const auto* factor = gguf.get<double>(arch + ".rope.scaling.factor");
    if (*type != "linear" || factor == nullptr)
      return unsupported(fmt::format("its rotary positions are scaled by '{}'", *type));
    config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", *factor}};
  }
  for (const GgufTensor& t : gguf.tensors) {
    if (t.name != kRopeFreqs) continue;
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
  return add_long_rope(config, gguf, file, arch);
}

// The share of a head that turns: the file has the number of its channels.
void add_rope_share(Json& config, const GgufFile& gguf, const GgufLayout& layout) {
  const auto* turned = gguf.get<int64_t>(layout.architecture + ".rope.dimension_count");
  const int64_t heads = config.value("num_attention_heads", int64_t{1});
  const int64_t size = config.value(
      "head_dim", config.value("hidden_size", int64_t{0}) / std::max<int64_t>(heads, 1));
  if (turned != nullptr && size > 0)
    config[layout.rotation.share_key] = static_cast<double>(*turned) / static_cast<double>(size);
}

// The share of a head without a window that turns, from rope_freqs: the factors of channels that do not are
// beyond any position.
Status add_turned_share(Json& config, const GgufFile& gguf, const ByteFile& file) {
  const std::vector<float> factors = HONE_TRY(numbers_of(gguf, file, kRopeFreqs));
  const auto turned = std::find_if(factors.begin(), factors.end(), [](float x) { return x != 1; });
  if (factors.empty() ||
      std::any_of(turned, factors.end(), [](float x) { return !(x >= kNeverTurns); }))
    return Error(
               err::kGgufUnsupported,
               fmt::format("'{}': its {} is not 1 for the channels that turn and {} for the others",
                           file.path(), kRopeFreqs, kNeverTurns))
        .todo(
            "use the model's safetensors checkpoint: its config.json has the scaling of positions");
  config["rope_parameters"]["full_attention"]["partial_rotary_factor"] =
      static_cast<double>(turned - factors.begin()) / static_cast<double>(factors.size());
  return Ok{};
}

std::string class_of(const GgufModelType& found, Head head) {
  for (const HeadOffer& offer : found.family->heads)
    if (offer.head == head) return found.type->class_prefix + offer.class_ending;
  HONE_BUG_IF(true, "GGUF files of {} without a head for them", found.family->name);
}

// Whether the file has a head that classifies sequences. H2209: it has a part of one.
Result<bool> has_classifier(const GgufFile& gguf, const GgufLayout& layout,
                            const std::string& path) {
  std::vector<std::string> there, missing;
  for (const GgufName& name : layout.classifier) {
    const std::string tensor = name.gguf + ".weight";
    (gguf.has_tensor(tensor) ? there : missing).push_back(tensor);
  }
  if (there.empty() || missing.empty()) return missing.empty() && !there.empty();
  return Error(err::kGgufUnsupported,
               fmt::format("'{}': its head that classifies has '{}' and no '{}'", path,
                           join(there, "', '"), join(missing, "', '")))
      .todo(
          "llama.cpp's converter leaves the pooler of BERT out; convert the folder with hone, or "
          "use its safetensors");
}

// The labels of a head that classifies: the file's names, or numbers.
Status add_labels(Json& config, const GgufFile& gguf, const GgufLayout& layout,
                  const std::string& path) {
  const std::string key = layout.architecture + "." + kOutputLabels;
  int64_t count = 0;
  for (const GgufTensor& t : gguf.tensors)
    if (t.name == kClassifierOutput) count = t.shape.front();
  std::vector<std::string> labels;
  for (int64_t i = 0; i < count; ++i) labels.push_back(fmt::format("LABEL_{}", i));
  if (const auto* named = gguf.get<std::vector<std::string>>(key)) labels = *named;
  if (std::ssize(labels) != count)
    return Error(err::kGgufDamaged, fmt::format("'{}': '{}' has {} labels, '{}' has {} rows", path,
                                                key, labels.size(), kClassifierOutput, count))
        .todo("convert the model again");
  for (size_t i = 0; i < labels.size(); ++i) {
    config["id2label"][std::to_string(i)] = labels[i];
    config["label2id"][labels[i]] = i;
  }
  const auto* text = gguf.get<std::string>(kClassifierKeys);
  if (text == nullptr) return Ok{};
  const Json rest = HONE_TRY(parse_json(*text, kClassifierKeys));
  for (const char* key : kKeysOfClassifiers)
    if (rest.is_object() && rest.contains(key)) config[key] = rest[key];
  return Ok{};
}

// A list of the metadata, or its only number.
Json whole_value(const GgufValue& v) {
  return std::visit([](const auto& x) { return Json(x); }, v);
}

}  // namespace

Result<GgufModelType> type_in(const GgufFile& gguf, const std::string& path) {
  const auto* arch = gguf.get<std::string>("general.architecture");
  if (arch == nullptr)
    return Error(err::kGgufDamaged, fmt::format("'{}': general.architecture is missing", path))
        .todo("convert or download the file again");
  const auto text = [&](const char* key) {
    const auto* value = gguf.get<std::string>(key);
    return value == nullptr ? std::string() : *value;
  };
  const GgufTraits traits{
      .architecture = *arch,
      .general_name = text("general.name"),
      .tokenizer = text("tokenizer.ggml.model"),
      .has =
          [&](const std::string& key) {
            return gguf.metadata.find(*arch + "." + key) != gguf.metadata.end();
          },
      .has_tensor = [&](const std::string& name) { return gguf.has_tensor(name); }};
  if (const auto found = gguf_type(traits)) return *found;
  return Error(err::kGgufUnsupported,
               fmt::format("'{}' holds a model of architecture '{}'", path, *arch))
      .todo(fmt::format("hone reads GGUF of {}; for others use the safetensors checkpoint",
                        gguf_type_names()));
}

Result<Json> gguf_config(const GgufFile& gguf, const ByteFile& file) {
  const GgufModelType found = HONE_TRY(type_in(gguf, file.path()));
  const GgufLayout& layout = *found.type->gguf;
  Json config = Json::object();
  config["model_type"] = found.type->name;
  const bool classifies = HONE_TRY(has_classifier(gguf, layout, file.path()));
  config["architectures"] = {
      class_of(found, classifies ? Head::sequence_classification : layout.head)};
  if (classifies) HONE_TRY(add_labels(config, gguf, layout, file.path()));
  if (const auto* name = gguf.get<std::string>("general.name"))
    config["_model_name_or_path"] = *name;
  const auto has = [&](const char* tensor) { return gguf.has_tensor(tensor); };
  if (layout.head != Head::none) config["tie_word_embeddings"] = !has("output.weight");
  const auto take = [&](const std::string& prefix, const std::vector<GgufKey>& keys) {
    for (const GgufKey& key : keys) {
      const auto it =
          gguf.metadata.find((key.of_tokenizer ? std::string(kOfTokenizer) : prefix) + key.gguf);
      if (key.config.empty() || it == gguf.metadata.end()) continue;
      if (const auto* text = std::get_if<std::string>(&it->second); text != nullptr && key.is_text)
        config[key.config] = *text;
      if (key.is_list) {
        config[key.config] = whole_value(it->second);
        continue;
      }
      if (Json v = scalar(it->second); v.is_number_float() == key.is_real && !v.is_null())
        config[key.config] = std::move(v);
    }
  };
  take(layout.architecture + ".", layout.keys);
  take(kOfTokenizer, token_keys());
  if (!config.contains("vocab_size"))
    if (const auto* tokens = gguf.get<std::vector<std::string>>("tokenizer.ggml.tokens"))
      config["vocab_size"] = static_cast<int64_t>(tokens->size());
  const auto check = [&](const char* key, int64_t least) -> Status {
    if (config.contains(key) && config[key].is_number_integer() &&
        config[key].get<int64_t>() >= least && config[key].get<int64_t>() <= kMostOfASize)
      return Ok{};
    return Error(err::kGgufDamaged,
                 fmt::format("'{}': its metadata give no usable {}", file.path(), key))
        .todo("convert the model again");
  };
  for (const char* key : layout.needed) HONE_TRY(check(key, 1));
  if (!layout.after_padding.empty()) HONE_TRY(check("pad_token_id", 0));
  if (layout.finish != nullptr) layout.finish(config, has);
  if (layout.turns_part) add_rope_share(config, gguf, layout);
  if (layout.turns_by_factors) HONE_TRY(add_turned_share(config, gguf, file));
  if (layout.rotates) HONE_TRY(add_rope(config, gguf, file, layout));
  return config;
}

Result<Json> gguf_config(const std::string& path) {
  const OpenGguf gguf = HONE_TRY(open_gguf(path));
  return gguf_config(gguf.content, *gguf.file);
}

}  // namespace hone

// Opening: from a name to config, weights and tokenizer.
#include "learn/pretrained/open.h"

#include <filesystem>
#include <set>

#include "base/core/log.h"
#include "base/core/url.h"
#include "base/settings/errors.h"
#include "base/store/hub.h"
#include "base/store/store.h"
#include "learn/checkpoint/errors.h"
#include "learn/checkpoint/gguf/gguf_parts.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/checkpoint/safetensors/strict_json.h"
#include "learn/checkpoint/torch/torch_file.h"
#include "learn/models/adapter_config.h"
#include "learn/models/errors.h"
#include "learn/models/torchvision.h"
#include "learn/pretrained/bitsandbytes.h"
#include "learn/pretrained/errors.h"
#include "learn/pretrained/gguf_modules.h"
#include "learn/pretrained/mxfp4.h"
#include "learn/pretrained/resize.h"
#include "learn/pretrained/stored.h"
#include "learn/pretrained/weights.h"
#include "learn/pretrained/wrapped.h"

namespace hone {
namespace fs = std::filesystem;

std::string gguf_of(const std::string& path) {
  if (path.ends_with(".gguf")) return path;
  if (!is_folder(path) || path_exists(fs::path(path) / "config.json")) return "";
  const std::vector<std::string> found = first_gguf_parts(names_in(path));
  return found.size() == 1 ? path + "/" + found.front() : "";
}

namespace {

Result<std::string> resolve(const std::string& name, const OpenOptions& options, bool weights) {
  if (path_exists(name)) return name;
  ResolveOptions r;
  r.revision = options.revision;
  r.cache_dir = options.cache_dir;
  if (!options.token.empty()) r.token = options.token;
  r.weights = weights;
  return resolve_model(name, r);
}

Result<Tokenizer> gguf_tokenizer(const std::string& path) {
  const OpenGguf opened = HONE_TRY(open_gguf(path));
  const GgufFile& file = opened.content;
  const auto text = [&](const char* key) {
    const std::string* v = file.get<std::string>(std::string("tokenizer.") + key);
    return v == nullptr ? std::string() : *v;
  };
  const auto id = [&](const char* key) {
    const int64_t* v = file.get<int64_t>(fmt::format("tokenizer.ggml.{}_token_id", key));
    return v == nullptr ? int64_t{-1} : *v;
  };
  const auto flag = [&](const char* key) {
    const bool* v = file.get<bool>(fmt::format("tokenizer.ggml.{}", key));
    return v == nullptr ? std::optional<bool>() : *v;
  };
  const auto texts = [&](const char* key) {
    const auto* v = file.get<std::vector<std::string>>(fmt::format("tokenizer.ggml.{}", key));
    return v == nullptr ? std::vector<std::string>() : *v;
  };
  GgufVocab v{.model = text("ggml.model"),
              .pre = text("ggml.pre"),
              .tokens = texts("tokens"),
              .types = {},
              .merges = texts("merges"),
              .scores = {},
              .bos = id("bos"),
              .eos = id("eos"),
              .unk = id("unknown"),
              .pad = id("padding"),
              .sep = id("seperator"),  // llama.cpp's spelling
              .cls = id("cls"),
              .mask = id("mask"),
              .add_bos = flag("add_bos_token"),
              .add_eos = flag("add_eos_token"),
              .add_space_prefix = flag("add_space_prefix"),
              .add_sep = flag("add_sep_token"),
              .lowercase = flag("normalizer.lowercase"),
              .strip_accents = flag("normalizer.strip_accents"),
              .mask_lstrip = std::nullopt,
              .charsmap = {},
              .chat_template = text("chat_template")};
  if (const auto* types = file.get<std::vector<int64_t>>("tokenizer.ggml.token_type"))
    v.types.assign(types->begin(), types->end());
  if (const auto* scores = file.get<std::vector<double>>("tokenizer.ggml.scores"))
    v.scores.assign(scores->begin(), scores->end());
  if (const bool* lstrip = file.get<bool>(kMaskLstrip)) v.mask_lstrip = *lstrip;
  if (const auto* map = file.get<std::vector<int64_t>>("tokenizer.ggml.precompiled_charsmap"))
    for (const int64_t byte : *map) v.charsmap.push_back(static_cast<char>(byte));
  Result<Tokenizer> made = load_gguf_tokenizer(v);
  if (!made.ok()) made.error().at(path);
  return made;
}

Result<Tokenizer> local_tokenizer(const std::string& path, const TokenizerSide& side = {}) {
  if (const std::string gguf = gguf_of(path); !gguf.empty()) return gguf_tokenizer(gguf);
  if (is_folder(path) || (!path.ends_with(".safetensors") && !is_torch_file_name(path)))
    return load_tokenizer(path, side);
  return load_tokenizer(fs::path(path).parent_path().string(), side);
}

// The config of a file of torch.save that has none beside it, by torchvision's names and shapes; nullopt: it is not
// torchvision's.
std::optional<Result<nlohmann::json>> config_of_shapes(const std::string& path) {
  if (is_folder(path) || !is_torch_file_name(path)) return {};
  if (path_exists(fs::path(path).parent_path() / "config.json")) return {};
  Result<std::unique_ptr<WeightSource>> weights = open_weights(path);
  if (!weights.ok()) return std::move(weights.error());
  return config_of_torchvision([&](const std::string& name) {
    const TensorInfo* found = (*weights)->find(name);
    return found == nullptr ? nullptr : &found->type.shape;
  });
}

// A file x.json is a config by any name; everything else goes to load_config.
Result<nlohmann::json> open_config(const std::string& path) {
  if (path.ends_with(".json") && !is_folder(path))
    return read_json_object(path, err::kConfigUnreadable);
  if (std::optional<Result<nlohmann::json>> shapes = config_of_shapes(path)) {
    if (!shapes->ok()) shapes->error().at(path);
    return std::move(*shapes);
  }
  return load_config(path);
}

// Whether two tensors hold the same values in the same type; compared in parts, as embeddings are
// large.
Result<bool> are_equal(const WeightSource& weights, const TensorInfo& a, const TensorInfo& b) {
  constexpr int64_t kPart = int64_t{1} << 20;
  const DType type = a.type.dtype;
  if (type != b.type.dtype) return false;
  if (a.file == b.file && a.offset == b.offset) return true;  // torch.save keeps a tie as one
  std::vector<std::byte> x, y;
  for (int64_t at = 0; at < a.type.count(); at += kPart) {
    x.resize(static_cast<size_t>(std::min(kPart, a.type.count() - at) * size_of(type)));
    y.resize(x.size());
    HONE_TRY(weights.read_range(a.name, type, at, x));
    HONE_TRY(weights.read_range(b.name, type, at, y));
    if (x != y) return false;
  }
  return true;
}

// Whether the checkpoint's head is the embedding, whatever config.json says
// (Family::separate_head).
Result<bool> head_is_tied(const ModelConfig& config, const WeightSource& weights) {
  const std::string name = family_of(config).separate_head;
  const TensorInfo* own = weights.find(name);
  if (own == nullptr) own = weights.find(std::string(kWrapper) + name);
  if (own == nullptr) return true;
  ModelConfig apart = config;  // there the embedding has no other name
  apart.tied = false;
  const TensorInfo* table = nullptr;
  for (const ParamSpec& spec : family_of(apart).params(apart))
    if (table == nullptr && spec.name != name && spec.shape == own->type.shape)
      table = find_weight(weights, apart, spec);
  if (table == nullptr || table == own) return true;
  return are_equal(weights, *own, *table);
}

// Sets config.tied by the checkpoint.
Status settle_head(Pretrained& p) {
  const Family& family = family_of(p.config);
  if (!p.weights || family.separate_head == nullptr) return Ok{};
  if (!p.config.tied && !family.head_of_file) return Ok{};
  p.config.tied = HONE_TRY(head_is_tied(p.config, *p.weights));
  if (p.config.tied || family.head_of_file) return Ok{};
  p.config.config["tie_word_embeddings"] = false;
  log_warning(
      "config.json ties the head to the embedding, but '{}' differs from it in the file: the head "
      "of the file is used, and they are saved as two weights",
      family.separate_head);
  return Ok{};
}

}  // namespace

Result<TrainedTask> open_trained_task(const std::string& name, const OpenOptions& options) {
  const std::string path = HONE_TRY(resolve(name, options, false));
  return read_trained_task(is_folder(path) ? path : fs::path(path).parent_path().string());
}

void set_layout(ModelConfig& config, const WeightSource& weights) {
  if (const auto layout = family_of(config).layout; layout != nullptr)
    config.layout = layout([&](const std::string& name) { return weights.find(name) != nullptr; });
}

Result<Tokenizer> open_tokenizer(const std::string& name, const OpenOptions& options,
                                 const TokenizerSide& side) {
  return local_tokenizer(HONE_TRY(resolve(name, options, false)), side);
}

namespace {

// A vocabulary that the tokenizer outgrows grows with it, as run_clm resizes its embeddings.
Result<Pretrained> open_new_type(const OpenOptions& options) {
  HONE_BUG_IF(options.model_type.empty(), "open_pretrained: no model, no config and no model type");
  Pretrained p;
  p.name = options.model_type;
  Result<nlohmann::json> config = usual_config(options.model_type, options.config_overrides);
  if (!config.ok()) {
    const bool type = config.error().is(err::kUnknownFamily);
    return std::move(config.error().at(type ? "--model_type " + options.model_type
                                            : "--config_overrides " + options.config_overrides));
  }
  if (!options.tokenizer_name.empty())
    p.tokenizer = HONE_TRY(open_tokenizer(options.tokenizer_name, options));
  if (p.tokenizer && p.tokenizer->id_limit() > config->value("vocab_size", int64_t{0}))
    (*config)["vocab_size"] = p.tokenizer->id_limit();
  Result<ModelConfig> read = read_model_config(*config);
  if (!read.ok())
    return std::move(read.error().at("--config_overrides " + options.config_overrides));
  p.config = std::move(*read);
  if (options.head) {
    const bool labels = classifies(*options.head);
    HONE_TRY(set_head(p.config, *options.head, labels ? config_labels(p.config) : 0));
  }
  return p;
}

// The text model's weights, and a line of log about the others. Only the file decides whether its
// head is tied: configs say it at two places.
std::unique_ptr<WeightSource> part_of_whole(Pretrained& p, std::unique_ptr<WeightSource> weights) {
  const size_t all = weights->tensors().size();
  std::unique_ptr<WeightSource> text = text_weights(std::move(weights), *p.whole);
  if (const char* head = family_of(p.config).separate_head; head != nullptr)
    p.config.tied = text->find(head) == nullptr;
  p.config.config["tie_word_embeddings"] = p.config.tied;
  log_info("{:<11} the text model of a model of type {}: {} other tensors stay as they are", "part",
           p.whole->config.value("model_type", ""), all - text->tensors().size());
  return text;
}

Result<Pretrained> open_model(const std::string& name, const OpenOptions& options) {
  if (name.empty() && options.config_name.empty()) return open_new_type(options);
  Pretrained p;
  p.name = name.empty() ? options.config_name : name;
  p.path = HONE_TRY(resolve(p.name, options, options.need_weights && !name.empty()));

  std::string config_path = p.path;
  if (!options.config_name.empty())
    config_path = HONE_TRY(resolve(options.config_name, options, false));
  nlohmann::json file = HONE_TRY(open_config(config_path));
  if (std::optional<nlohmann::json> text = text_config_of(file)) {
    p.whole.emplace();
    p.whole->config = std::exchange(file, std::move(*text));
    if (is_folder(p.path)) p.whole->folder = p.path;
  }
  Result<ModelConfig> config = read_model_config(file);
  if (!config.ok()) return std::move(config.error().at(config_path));
  p.config = std::move(*config);
  std::optional<Head> head = options.head;
  if (options.writes_text) head = family_of(p.config).encoder ? Head::seq2seq_lm : Head::causal_lm;
  if (head) {
    Status offered = set_head(p.config, *head, classifies(*head) ? config_labels(p.config) : 0);
    if (!offered.ok()) return std::move(offered.error().at(config_path));
  }

  const fs::path beside = is_folder(p.path) ? fs::path(p.path) : fs::path(p.path).parent_path();
  if (const fs::path file = beside / "generation_config.json"; path_exists(file))
    p.generation_config = HONE_TRY(read_json_object(file.string(), err::kConfigUnreadable));
  p.trained = HONE_TRY(read_trained_task(beside.string()));

  if (options.need_weights && !name.empty()) {
    std::unique_ptr<WeightSource> opened = HONE_TRY(open_weights(p.path));
    set_layout(p.config, *opened);
    std::set<std::string> turned;
    for (const ParamSpec& spec : family_of(p.config).params(p.config))
      if (spec.in_out) turned.insert(spec.name);
    std::unique_ptr<WeightSource> weights = std::move(opened);
    if (p.whole) weights = part_of_whole(p, std::move(weights));
    p.weights = HONE_TRY(read_bitsandbytes(unwrapped(std::move(weights)), turned));
    p.weights = join_stacked(read_mxfp4(std::move(p.weights)), stacked_tensors(p.config));
  }
  HONE_TRY(settle_head(p));

  std::string tokenizer_path = p.path.ends_with(".json") ? beside.string() : p.path;
  if (!options.tokenizer_name.empty())
    tokenizer_path = HONE_TRY(resolve(options.tokenizer_name, options, false));
  if (!family_of(p.config).reads_text) return p;
  Result<Tokenizer> tokenizer = local_tokenizer(tokenizer_path);
  if (tokenizer.ok()) {
    p.tokenizer = std::move(*tokenizer);
  } else if (options.need_tokenizer) {
    return std::move(tokenizer.error());
  }
  return p;
}

// Weights of the model that the adapter's file holds whole beside those that were trained: as PEFT,
// they replace the model's. Embeddings that were resized grow in the model too.
Status keep_whole_weights(Pretrained& p) {
  const Family& family = family_of(p.config);
  const auto adapter = std::make_shared<Adapter>(*p.config.adapter);
  p.config.adapter.reset();  // weights have the names of the model alone
  int64_t vocab = p.config.vocab;
  for (const ParamSpec& spec : family.params(p.config)) {
    std::vector<std::string> names{spec.name};
    for (std::string& other : family.other_names(p.config, spec)) names.push_back(std::move(other));
    const TensorInfo* whole = nullptr;
    for (const std::string& name : names)
      if (whole == nullptr) whole = p.adapter->find(kAdapterPrefix + name);
    if (whole == nullptr || adapter->saves(p.config, spec.name)) continue;
    adapter->kept.push_back(spec.name);
    if (spec.looked_up && spec.shape[0] == p.config.vocab && whole->type.shape.size() == 2)
      vocab = std::max(vocab, whole->type.shape[0]);
  }
  if (vocab > p.config.vocab) HONE_TRY(resize_vocabulary(p, vocab));
  p.config.adapter = adapter;
  return Ok{};
}

// The adapter that the options name, for a model that has been opened.
Status open_adapter(Pretrained& p, const OpenOptions& options) {
  p.config.adapter = options.adapter;
  if (options.adapter_name.empty()) return Ok{};
  const std::string folder = HONE_TRY(resolve(options.adapter_name, options, false));
  Result<Adapter> read = read_adapter_config(HONE_TRY(read_ordered_object(
      (fs::path(folder) / kAdapterConfigFile).string(), err::kConfigUnreadable)));
  if (!read.ok()) return std::move(read.error().at(folder));
  p.config.adapter = std::make_shared<Adapter>(std::move(*read));
  p.trained = HONE_TRY(read_trained_task(folder));
  if (const fs::path file = fs::path(folder) / "generation_config.json"; path_exists(file))
    p.generation_config = HONE_TRY(read_json_object(file.string(), err::kConfigUnreadable));
  for (const char* ending : {".safetensors", ".bin"}) {
    const fs::path file = fs::path(folder) / (std::string(kAdapterStem) + ending);
    if (p.adapter == nullptr && path_exists(file))
      p.adapter = unwrapped(HONE_TRY(open_weights(file.string())));
  }
  if (p.adapter && p.whole) p.adapter = text_adapter(std::move(p.adapter));
  if (p.adapter) return keep_whole_weights(p);
  return Error(err::kBadAdapter,
               fmt::format("'{}' has no {}.safetensors", options.adapter_name, kAdapterStem))
      .todo("name the folder that PEFT or hone wrote the adapter into");
}

// A tokenizer with more tokens than the model: the embeddings grow, or it is refused.
Status settle_vocabulary(Pretrained& p, const OpenOptions& options) {
  if (!p.tokenizer || p.tokenizer->id_limit() <= p.config.vocab) return Ok{};
  const int64_t ids = p.tokenizer->id_limit(), old = p.config.vocab;
  if (!options.resize_embeddings) {
    if (!options.need_tokenizer) return Ok{};
    return Error(err::kVocabularyLarger,
                 fmt::format("the tokenizer has ids up to {}, the model's vocabulary ends at {}",
                             ids - 1, old - 1))
        .at(fmt::format("tokenizer {}, model {}",
                        options.tokenizer_name.empty() ? p.path : options.tokenizer_name, p.name))
        .todo(
            "name a tokenizer and a model that belong together; hone train --resize_embeddings "
            "trains the model with the tokens that it lacks");
  }
  const int64_t step = std::max<int64_t>(options.vocabulary_multiple, 1);
  HONE_TRY(resize_vocabulary(p, (ids + step - 1) / step * step));
  log_info(
      "{:<11} {} tokens of the tokenizer, {} of the model: resized to {}, new rows near the "
      "mean of the old ones",
      "embeddings", ids, old, p.config.vocab);
  if (!p.config.adapter) return Ok{};
  const auto adapter = std::make_shared<Adapter>(*p.config.adapter);
  for (const std::string& name : p.resized)
    if (!adapter->saves(p.config, name) && !adapter->keeps(name)) adapter->kept.push_back(name);
  p.config.adapter = adapter;
  return Ok{};
}

// A relative path of an adapter's model, which was typed in another folder: looked for from the adapter's folder upwards.
std::string found_above(const std::string& folder, const std::string& base) {
  if (path_exists(base) || is_url(base) || fs::path(base).is_absolute()) return base;
  for (fs::path at = fs::absolute(folder); at != at.parent_path(); at = at.parent_path())
    if (path_exists(at / base)) return (at / base).string();
  return base;
}

// Whether a folder has an adapter and no model.
bool is_adapter(const std::string& folder) {
  return is_folder(folder) && path_exists(fs::path(folder) / kAdapterConfigFile) &&
         !path_exists(fs::path(folder) / "config.json");
}

}  // namespace

bool has_tokenizer(const std::string& folder) {
  for (const char* file : {"tokenizer.json", "vocab.json", "vocab.txt", "spiece.model"})
    if (path_exists(fs::path(folder) / file)) return true;
  return false;
}

Result<std::string> base_of_adapter(const std::string& folder) {
  if (!is_adapter(folder)) return std::string();
  const fs::path file = fs::path(folder) / kAdapterConfigFile;
  const nlohmann::json config = HONE_TRY(read_json_object(file.string(), err::kConfigUnreadable));
  const auto named = config.find("base_model_name_or_path");
  if (named == config.end() || !named->is_string() || named->get<std::string>().empty())
    return Error(err::kBadAdapter, "the adapter does not say which model it belongs to")
        .at(file.string())
        .todo("name the model by --model_name_or_path and this folder by --adapter_name_or_path");
  std::string base = found_above(folder, named->get<std::string>());
  if (is_adapter(base))
    return Error(err::kBadAdapter, fmt::format("the model of the adapter, '{}', is an adapter too",
                                               named->get<std::string>()))
        .at(file.string())
        .todo("merge that adapter into its model with hone convert, and name the merged model");
  return base;
}

Result<Pretrained> open_pretrained(const std::string& name, const OpenOptions& options) {
  if (const std::string base = HONE_TRY(base_of_adapter(name)); !base.empty()) {
    OpenOptions with = options;
    with.adapter_name = name;
    if (with.tokenizer_name.empty() && has_tokenizer(name)) with.tokenizer_name = name;
    Result<Pretrained> opened = open_pretrained(base, with);
    if (!opened.ok()) opened.error().at("the model of the adapter in " + name);
    return opened;
  }
  Pretrained p = HONE_TRY(open_model(name, options));
  p.config.quantization = HONE_TRY(quantization_of_config(p.config));
  const bool stored = is_as_stored(options.quantization);
  if (!p.config.quantization && !stored)
    p.config.quantization = options.quantization;
  else if (options.quantization && !stored &&
           options.quantization->scheme != p.config.quantization->scheme)
    return Error(err::kSettingConflict,
                 fmt::format("the weights are in {}, and {} is requested",
                             p.config.quantization->scheme, options.quantization->scheme))
        .at(p.name + ": quantization_config")
        .todo("leave the flags out: the weights stay quantized as stored");
  HONE_TRY(open_adapter(p, options));
  HONE_TRY(settle_vocabulary(p, options));
  if ((p.config.adapter || stored) && !p.config.quantization) {
    const std::string gguf = gguf_of(p.path);
    if (!gguf.empty() || is_in_mxfp4(p.config))
      p.config.quantization = HONE_TRY(form_in_file(p, gguf));
  }
  return p;
}

}  // namespace hone

#include "learn/pretrained/sentence_modules.h"

#include <algorithm>
#include <filesystem>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/checkpoint/errors.h"
#include "learn/checkpoint/gguf/gguf_parts.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/checkpoint/safetensors/strict_json.h"
#include "learn/pretrained/errors.h"
#include "learn/pretrained/gguf_modules.h"
#include "learn/pretrained/open.h"

namespace hone {
namespace {

constexpr const char* kModulesFile = "modules.json";
constexpr const char* kPromptsFile = "config_sentence_transformers.json";
constexpr const char* kLengthFile = "sentence_bert_config.json";
constexpr const char* kSentenceEmbedding = "sentence_embedding";

Error bad_module(const std::string& what, const std::string& file) {
  return Error(err::kSentenceModules, what)
      .at(file)
      .todo(
          "hone computes Transformer, Pooling, Dense and Normalize of sentence-transformers, in "
          "this order");
}

// An accepted key and its accepted values; none: any value.
struct AcceptedKey {
  const char* name;
  std::vector<Json> values = {};
};

Status check_module_keys(const Json& config, const std::vector<AcceptedKey>& accepted,
                         const std::string& file) {
  for (const auto& [key, value] : config.items()) {
    const auto at = std::find_if(accepted.begin(), accepted.end(),
                                 [&](const AcceptedKey& k) { return key == k.name; });
    if (at == accepted.end())
      return bad_module(fmt::format("the key '{}' is not supported", key), file);
    if (!at->values.empty() &&
        std::find(at->values.begin(), at->values.end(), value) == at->values.end())
      return bad_module(fmt::format("'{}' is {}, which is not supported", key, value.dump()), file);
  }
  return Ok{};
}

Result<std::vector<std::string>> pooling_of(const Json& config, const std::string& file) {
  // In the order in which sentence-transformers puts them together.
  static const std::pair<const char*, const char*> kFlags[] = {
      {"pooling_mode_cls_token", "cls"},
      {"pooling_mode_max_tokens", "max"},
      {"pooling_mode_mean_tokens", "mean"},
      {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
      {"pooling_mode_weightedmean_tokens", "weightedmean"},
      {"pooling_mode_lasttoken", "lasttoken"}};
  std::vector<AcceptedKey> accepted{{"word_embedding_dimension"},
                                    {"embedding_dimension"},
                                    {"pooling_mode"},
                                    {"include_prompt", {true}}};
  for (const auto& [key, mode] : kFlags) accepted.push_back({key, {true, false}});
  HONE_TRY(check_module_keys(config, accepted, file));
  std::vector<std::string> modes;
  const Json& named = value_at(config, "pooling_mode");
  if (named.is_string())
    modes.push_back(named.get<std::string>());
  else if (named.is_array() &&
           std::all_of(named.begin(), named.end(), [](const Json& m) { return m.is_string(); }))
    modes = named.get<std::vector<std::string>>();
  else if (!named.is_null())
    return bad_module(fmt::format("'pooling_mode' is {}", named.dump()), file);
  for (const auto& [key, mode] : kFlags)
    if (named.is_null() && value_at(config, key) == Json(true)) modes.push_back(mode);
  if (modes.empty()) modes.push_back("mean");
  for (const std::string& mode : modes)
    if (const auto& known = pooling_modes();
        std::find(known.begin(), known.end(), mode) == known.end())
      return bad_module(fmt::format("the pooling '{}' is not supported", mode), file);
  return modes;
}

Result<EmbeddingDense> dense_of(const Json& config, const std::string& folder,
                                const std::string& file) {
  HONE_TRY(check_module_keys(config,
                             {{"in_features"},
                              {"out_features"},
                              {"bias", {true, false}},
                              {"activation_function"},
                              {"module_input_name", {kSentenceEmbedding}},
                              {"module_output_name", {kSentenceEmbedding, nullptr}},
                              {"use_residual", {false}}},
                             file));
  static const std::map<std::string, std::string> kActivations{
      {"Tanh", "tanh"}, {"Identity", "none"}, {"ReLU", "relu"}, {"GELU", "gelu"}, {"SiLU", "silu"}};
  EmbeddingDense dense{.folder = folder,
                       .in = whole_at(config, "in_features"),
                       .out = whole_at(config, "out_features"),
                       .bias = value_at(config, "bias") != Json(false)};
  if (dense.in < 1 || dense.out < 1 || dense.in > kLargestSize || dense.out > kLargestSize)
    return bad_module("in_features and out_features are not sizes", file);
  if (const std::string act = text_at(config, "activation_function"); !act.empty()) {
    const auto at = kActivations.find(act.substr(act.rfind('.') + 1));
    if (!act.starts_with("torch.nn.") || at == kActivations.end())
      return bad_module(fmt::format("the activation '{}' is not supported", act), file);
    dense.act = at->second;
  }
  return dense;
}

// The last part of a module's type: "Pooling".
Result<std::string> module_kind(const Json& module, const std::string& file) {
  if (!module.is_object()) return bad_module("a module is not an object", file);
  HONE_TRY(check_module_keys(
      module, {{"idx"}, {"name"}, {"path"}, {"type"}, {"kwargs", {Json::array(), nullptr}}}, file));
  const std::string type = text_at(module, "type");
  if (!type.starts_with("sentence_transformers."))
    return bad_module(fmt::format("the module '{}' is not of sentence-transformers", type), file);
  return type.substr(type.rfind('.') + 1);
}

// A file of a module's folder; an empty object if there is none.
Result<Json> optional_object(const std::string& file) {
  if (!path_exists(file)) return Json(Json::object());
  return HONE_TRY(read_json_object(file, err::kConfigUnreadable));
}

Status read_length(const std::string& folder, SentenceModules& out) {
  const std::string file = folder + "/" + kLengthFile;
  const Json config = HONE_TRY(optional_object(file));
  HONE_TRY(check_module_keys(config,
                             {{"max_seq_length"},
                              {"do_lower_case", {false, nullptr}},
                              {"transformer_task", {"feature-extraction"}},
                              {"modality_config"},
                              {"module_output_name", {"token_embeddings"}},
                              {"model_args", {Json::object(), nullptr}},
                              {"tokenizer_args", {Json::object(), nullptr}},
                              {"config_args", {Json::object(), nullptr}}},
                             file));
  out.max_seq_length = whole_at(config, "max_seq_length");
  if (out.max_seq_length > 0) return Ok{};
  // Else the tokenizer's, unless it is the number that stands for none.
  const Json tokenizer = HONE_TRY(optional_object(folder + "/tokenizer_config.json"));
  const Json& most = value_at(tokenizer, "model_max_length");
  if (most.is_number_integer() && most.get<int64_t>() > 0 && most.get<int64_t>() <= kLargestSize)
    out.max_seq_length = most.get<int64_t>();
  return Ok{};
}

Status read_prompts(const std::string& folder, SentenceModules& out) {
  const std::string file = folder + "/" + kPromptsFile;
  const Json config = HONE_TRY(optional_object(file));
  HONE_TRY(check_module_keys(config,
                             {{"__version__"},
                              {"model_type", {"SentenceTransformer"}},
                              {"prompts"},
                              {"default_prompt_name"},
                              {"truncate_dim", {nullptr}},
                              {"similarity_fn_name", {"cosine", "dot", nullptr}}},
                             file));
  const Json& prompts = value_at(config, "prompts");
  if (prompts.is_object())
    for (const auto& [name, text] : prompts.items()) {
      if (!text.is_string())
        return bad_module(fmt::format("the prompt '{}' is not a text", name), file);
      out.prompts[name] = text.get<std::string>();
    }
  out.default_prompt_name = text_at(config, "default_prompt_name");
  if (const std::string name = text_at(config, "similarity_fn_name"); !name.empty())
    out.similarity = name;
  return Ok{};
}

// The model's weights, and those of dense layers.
class JoinedWeights final : public WeightSource {
 public:
  explicit JoinedWeights(std::unique_ptr<WeightSource> base) {
    for (const TensorInfo& t : base->tensors()) take(*base, t, t.name);
    sources_.push_back(std::move(base));
  }
  void join(std::unique_ptr<WeightSource> more, const std::string& prefix) {
    for (const TensorInfo& t : more->tensors()) take(*more, t, prefix + t.name);
    sources_.push_back(std::move(more));
  }

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override {
    return from_[index].source->read(from_[index].name, as, out);
  }
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override {
    return from_[index].source->read_range(from_[index].name, as, first, out);
  }
  Status read_blocks_of(size_t index, std::string_view part, int64_t first,
                        std::span<std::byte> out) const override {
    return from_[index].source->read_blocks(from_[index].name, part, first, out);
  }

 private:
  struct Place {
    const WeightSource* source;
    std::string name;
  };
  void take(const WeightSource& source, TensorInfo info, const std::string& name) {
    from_.push_back({&source, info.name});
    info.name = name;
    add(std::move(info));
  }
  std::vector<std::unique_ptr<WeightSource>> sources_;
  std::vector<Place> from_;
};

}  // namespace

Result<std::string> SentenceModules::prompt(const std::string& name) const {
  const std::string& wanted = name.empty() ? default_prompt_name : name;
  if (wanted.empty()) return std::string();
  if (const auto at = prompts.find(wanted); at != prompts.end()) return at->second;
  std::vector<std::string> names;
  for (const auto& [known, text] : prompts) names.push_back(known);
  return Error(err::kSentenceModules, fmt::format("the model has no prompt '{}'", wanted))
      .at(kPromptsFile)
      .todo(names.empty() ? "leave the name out: the model has no prompts"
                          : fmt::format("its prompts are {}", join(names, ", ")));
}

Result<std::optional<SentenceModules>> read_sentence_modules(const std::string& folder) {
  if (const std::string gguf = gguf_of(folder); !gguf.empty())
    return read_gguf_modules(HONE_TRY(open_gguf(gguf)).content, gguf);
  const std::string file = folder + "/" + kModulesFile;
  if (!is_folder(folder) || !path_exists(file)) return std::optional<SentenceModules>();
  const Json modules = HONE_TRY(read_json_file(file));
  if (!modules.is_array() || modules.empty())
    return bad_module("the file is not a list of modules", file);
  SentenceModules out;
  bool pooled = false;
  for (size_t i = 0; i < modules.size(); ++i) {
    const std::string kind = HONE_TRY(module_kind(modules[i], file)),
                      path = text_at(modules[i], "path");
    const std::string own = fmt::format("{}/{}/config.json", folder, path);
    const bool first = i == 0;
    if (first != (kind == "Transformer"))
      return bad_module(fmt::format("module {} is '{}'", i, kind), file);
    if (first && !path.empty())
      return bad_module(fmt::format("the model is in the folder '{}'", path), file)
          .todo("move its files beside modules.json and set its \"path\" to \"\"");
    if (first) continue;
    if ((kind == "Pooling") == pooled || out.form.normalize)
      return bad_module(fmt::format("module {} is '{}'", i, kind), file);
    const Json config = HONE_TRY(optional_object(own));
    if (kind == "Pooling") {
      out.form.pooling = HONE_TRY(pooling_of(config, own));
      pooled = true;
    } else if (kind == "Dense") {
      out.form.dense.push_back(HONE_TRY(dense_of(config, path, own)));
    } else if (kind == "Normalize") {
      HONE_TRY(check_module_keys(config,
                                 {{"module_input_name", {kSentenceEmbedding}},
                                  {"module_output_name", {kSentenceEmbedding, nullptr}}},
                                 own));
      out.form.normalize = true;
    } else {
      return bad_module(fmt::format("module {} is '{}'", i, kind), file);
    }
  }
  if (!pooled) return bad_module("there is no Pooling", file);
  HONE_TRY(read_length(folder, out));
  HONE_TRY(read_prompts(folder, out));
  return std::optional(std::move(out));
}

Status write_sentence_modules(const std::string& folder, const SentenceModules& modules,
                              int64_t hidden) {
  Store& store = file_store();
  OrderedJson list = OrderedJson::array();
  const auto write = [&](const std::string& name, const OrderedJson& value) {
    return store.write(folder + "/" + name, dump_json(value, {.indent = 2}) + "\n");
  };
  const auto add = [&](const std::string& kind, const std::string& path) -> Status {
    const auto i = static_cast<int64_t>(list.size());
    list.push_back({{"idx", i},
                    {"name", std::to_string(i)},
                    {"path", path},
                    {"type", "sentence_transformers.models." + kind}});
    return path.empty() ? Status(Ok{}) : store.make_dirs(folder + "/" + path);
  };
  HONE_TRY(add("Transformer", ""));
  HONE_TRY(add("Pooling", "1_Pooling"));
  const EmbeddingForm& form = modules.form;
  // Versions before 6 do not know `pooling_mode`, and no order of several modes.
  OrderedJson pooling{{"word_embedding_dimension", hidden}};
  if (form.pooling.size() > 1)
    pooling = {{"embedding_dimension", hidden}, {"pooling_mode", form.pooling}};
  else
    for (const auto& [key, mode] : {std::pair("cls_token", "cls"),
                                    {"mean_tokens", "mean"},
                                    {"max_tokens", "max"},
                                    {"mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
                                    {"lasttoken", "lasttoken"}})
      pooling[fmt::format("pooling_mode_{}", key)] = form.pooling[0] == mode;
  pooling["include_prompt"] = true;
  HONE_TRY(write("1_Pooling/config.json", pooling));
  for (const EmbeddingDense& dense : form.dense) {
    static const std::map<std::string, const char*> kClasses{{"tanh", "activation.Tanh"},
                                                             {"none", "linear.Identity"},
                                                             {"relu", "activation.ReLU"},
                                                             {"gelu", "activation.GELU"},
                                                             {"silu", "activation.SiLU"}};
    HONE_TRY(add("Dense", dense.folder));
    HONE_TRY(write(
        dense.folder + "/config.json",
        {{"in_features", dense.in},
         {"out_features", dense.out},
         {"bias", dense.bias},
         {"activation_function", fmt::format("torch.nn.modules.{}", kClasses.at(dense.act))}}));
  }
  if (form.normalize) HONE_TRY(add("Normalize", fmt::format("{}_Normalize", list.size())));
  HONE_TRY(write(kModulesFile, list));
  if (modules.max_seq_length > 0)
    HONE_TRY(
        write(kLengthFile, {{"max_seq_length", modules.max_seq_length}, {"do_lower_case", false}}));
  OrderedJson prompts = OrderedJson::object();
  for (const auto& [name, text] : modules.prompts) prompts[name] = text;
  return write(kPromptsFile,
               {{"prompts", prompts},
                {"default_prompt_name", modules.default_prompt_name.empty()
                                            ? OrderedJson()
                                            : OrderedJson(modules.default_prompt_name)},
                {"similarity_fn_name", modules.similarity}});
}

Status copy_sentence_modules(const std::string& from, const std::string& folder, int64_t hidden) {
  const Result<std::optional<SentenceModules>> modules = read_sentence_modules(from);
  if (!modules.ok()) {
    log_warning("the modules of sentence-transformers are left out: {}", modules.error().what());
    return Ok{};
  }
  if (!modules->has_value()) return Ok{};
  HONE_TRY(write_sentence_modules(folder, **modules, hidden));
  for (const EmbeddingDense& dense : (*modules)->form.dense)
    for (const char* file : {"model.safetensors", "pytorch_model.bin"}) {
      const std::string name = fmt::format("{}/{}", dense.folder, file);
      if (!path_exists(from + "/" + name)) continue;
      std::error_code failed;
      std::filesystem::copy_file(from + "/" + name, folder + "/" + name,
                                 std::filesystem::copy_options::overwrite_existing, failed);
      if (failed)
        return Error(err::kSentenceModules, fmt::format("cannot copy it: {}", failed.message()))
            .at(folder + "/" + name);
    }
  return Ok{};
}

Status embed_with(Pretrained& model, const SentenceModules& modules) {
  HONE_TRY(set_head(model.config, Head::none));
  auto form = std::make_shared<EmbeddingForm>(modules.form);
  form->longest = modules.max_seq_length > 0
                      ? std::min(modules.max_seq_length, model.config.max_positions)
                      : model.config.max_positions;
  int64_t width = model.config.hidden * std::ssize(form->pooling);
  std::vector<const EmbeddingDense*> apart;  // with weights in files of their own
  for (const EmbeddingDense& dense : form->dense) {
    if (dense.in != width)
      return bad_module(
          fmt::format("the dense layer reads {} numbers, there are {}", dense.in, width),
          fmt::format("{}/{}", model.path, dense.folder));
    width = dense.out;
    if (model.weights && model.weights->find(dense.folder + ".linear.weight") == nullptr)
      apart.push_back(&dense);
  }
  if (!apart.empty()) {
    auto joined = std::make_unique<JoinedWeights>(std::move(model.weights));
    for (const EmbeddingDense* dense : apart) {
      const std::string folder = fmt::format("{}/{}", model.path, dense->folder);
      std::string file = folder + "/model.safetensors";
      if (!path_exists(file)) file = folder + "/pytorch_model.bin";
      joined->join(HONE_TRY(open_weights(file)), dense->folder + ".");
    }
    model.weights = std::move(joined);
  }
  model.config.embedding = std::move(form);
  return Ok{};
}

Status write_dense(const std::string& folder, const EmbeddingDense& dense,
                   std::span<const float> weight, std::span<const float> bias) {
  std::vector<TensorData> tensors{
      {"linear.weight", {DType::f32, {dense.out, dense.in}}, std::as_bytes(weight), {}}};
  if (dense.bias)
    tensors.push_back({"linear.bias", {DType::f32, {dense.out}}, std::as_bytes(bias), {}});
  return save_safetensors(fmt::format("{}/{}", folder, dense.folder), "model", tensors);
}

Result<std::string> score_activation(const ModelConfig& config) {
  const Json& own = value_at(config.config, "sentence_transformers");
  std::string name = own.is_object() ? text_at(own, "activation_fn") : "";
  if (name.empty()) name = text_at(config.config, "sbert_ce_default_activation_function");
  const std::string last = name.substr(name.rfind('.') + 1);
  if (name.empty() || last == "Sigmoid") return std::string("sigmoid");
  if (last == "Identity") return std::string("identity");
  return Error(err::kSentenceModules, fmt::format("the activation '{}' is not supported", name))
      .at("config.json: sentence_transformers")
      .todo("torch.nn.modules.activation.Sigmoid and torch.nn.modules.linear.Identity work");
}

}  // namespace hone

#include "learn/pretrained/whole_model.h"

#include <filesystem>
#include <set>

#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/checkpoint/safetensors/errors.h"
#include "learn/checkpoint/safetensors/stacked_weights.h"
#include "learn/models/adapter.h"
#include "learn/models/family.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

constexpr const char* kTextConfig = "text_config";
constexpr std::string_view kTextBody = "model.", kTextHead = "lm_head.";
// The text model's place in Transformers' classes, and so in PEFT's names.
constexpr std::string_view kModuleBody = "model.language_model.";
// Prefixes in files: of Transformers 4 and of those that keep its names, and of others.
constexpr std::string_view kBodies[] = {"language_model.model.", "model.language_model.",
                                        "model.text_model.", "text_model.model."};
constexpr std::string_view kHeads[] = {"language_model.lm_head.", "lm_head."};
constexpr const char* kOtherFiles[] = {"preprocessor_config.json", "processor_config.json",
                                       "video_preprocessor_config.json", "chat_template.json"};

// Weights of another source under other names.
class RenamedWeights final : public WeightSource {
 public:
  explicit RenamedWeights(std::shared_ptr<const WeightSource> from) : from_(std::move(from)) {
    metadata_ = from_->metadata();
  }
  void take(const TensorInfo& t, std::string name) {
    names_.push_back(t.name);
    TensorInfo info = t;
    info.name = std::move(name);
    add(std::move(info));
  }

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override {
    return from_->read(names_[index], as, out);
  }
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override {
    return from_->read_range(names_[index], as, first, out);
  }
  Status read_blocks_of(size_t index, std::string_view part, int64_t first,
                        std::span<std::byte> out) const override {
    return from_->read_blocks(names_[index], part, first, out);
  }

 private:
  const std::shared_ptr<const WeightSource> from_;
  std::vector<std::string> names_;  // there; beside tensors_
};

// The first of the prefixes that some tensor has; "": none has one.
template <size_t N>
std::string prefix_of(const WeightSource& weights, const std::string_view (&prefixes)[N]) {
  for (const std::string_view prefix : prefixes)
    for (const TensorInfo& t : weights.tensors())
      if (t.name.starts_with(prefix)) return std::string(prefix);
  return "";
}

// The text model's name of a weight of the folder; "": it belongs to another part.
std::string text_name(const WholeModel& whole, const std::string& name) {
  if (!whole.body.empty() && name.starts_with(whole.body))
    return std::string(kTextBody) + name.substr(whole.body.size());
  if (!whole.head.empty() && name.starts_with(whole.head))
    return std::string(kTextHead) + name.substr(whole.head.size());
  return "";
}

bool is_type_of_a_family(const nlohmann::json& config) {
  const auto type = config.find("model_type");
  if (type == config.end()) return false;
  for (const Family& f : families())
    for (const ModelType& t : f.model_types)
      if (*type == t.name) return true;
  return false;
}

}  // namespace

std::string WholeModel::name_of(const std::string& weight) const {
  const std::string_view adapter = kAdapterPrefix;
  if (weight.starts_with(adapter)) {
    const std::string inner = weight.substr(adapter.size());
    if (!inner.starts_with(kTextBody)) return weight;
    return fmt::format("{}{}{}", adapter, kModuleBody, inner.substr(kTextBody.size()));
  }
  if (weight.starts_with(kTextBody)) return body + weight.substr(kTextBody.size());
  return weight.starts_with(kTextHead) ? head + weight.substr(kTextHead.size()) : weight;
}

Result<std::vector<TensorData>> WholeModel::others() const {
  std::vector<TensorData> tensors;
  if (weights == nullptr) return tensors;
  for (const TensorInfo& t : weights->tensors()) {
    if (!text_name(*this, t.name).empty()) continue;
    if (!t.scheme.empty())
      return Error(err::kTensorConversion,
                   fmt::format("'{}' of the folder is kept as {} and cannot be copied", t.name,
                               t.scheme))
          .at(t.file)
          .todo("use a folder whose tensors are floats");
    tensors.push_back(tensor_of(*weights, t.name, t.name, t.type.dtype));
  }
  return tensors;
}

nlohmann::json WholeModel::config_with(const ModelConfig& text) const {
  nlohmann::json whole = config;
  nlohmann::json& part = whole[kTextConfig];
  for (const auto& [key, value] : text.config.items())
    if (part.contains(key) || !value.is_null()) part[key] = value;
  for (const char* key : {"architectures", "dtype", "torch_dtype"}) part.erase(key);
  whole["tie_word_embeddings"] = text.tied;
  part["tie_word_embeddings"] = text.tied;
  return whole;
}

Status WholeModel::copy_files(const std::string& to) const {
  if (folder.empty()) return Ok{};
  for (const char* name : kOtherFiles) {
    const std::string from = (fs::path(folder) / name).string(),
                      copy = (fs::path(to) / name).string();
    if (!path_exists(from) || path_exists(copy)) continue;
    HONE_TRY(file_store().write(copy, HONE_TRY(read_file(from))));
  }
  return Ok{};
}

std::optional<nlohmann::json> text_config_of(const nlohmann::json& config) {
  if (!config.is_object() || is_type_of_a_family(config)) return std::nullopt;
  const auto part = config.find(kTextConfig);
  if (part == config.end() || !part->is_object()) return std::nullopt;
  nlohmann::json text = *part;
  if (!text.contains("model_type") && config.contains("model_type") &&
      config["model_type"].is_string())
    text["model_type"] = config["model_type"].get<std::string>() + "_text";
  if (config.contains("tie_word_embeddings"))
    text["tie_word_embeddings"] = config["tie_word_embeddings"];
  return text;
}

std::unique_ptr<WeightSource> text_weights(std::unique_ptr<WeightSource> all, WholeModel& whole) {
  whole.weights = std::move(all);
  if (const std::string body = prefix_of(*whole.weights, kBodies); !body.empty()) whole.body = body;
  whole.head = prefix_of(*whole.weights, kHeads);
  auto text = std::make_unique<RenamedWeights>(whole.weights);
  for (const TensorInfo& t : whole.weights->tensors())
    if (std::string name = text_name(whole, t.name); !name.empty()) text->take(t, std::move(name));
  if (whole.head.empty())
    whole.head = whole.body == kBodies[0] ? std::string(kHeads[0]) : std::string(kHeads[1]);
  return text;
}

std::unique_ptr<WeightSource> text_adapter(std::unique_ptr<WeightSource> adapter) {
  const std::shared_ptr<const WeightSource> from = std::move(adapter);
  const std::string prefix = std::string(kAdapterPrefix) + std::string(kModuleBody);
  auto text = std::make_unique<RenamedWeights>(from);
  for (const TensorInfo& t : from->tensors())
    text->take(t, t.name.starts_with(prefix) ? fmt::format("{}{}{}", kAdapterPrefix, kTextBody,
                                                           t.name.substr(prefix.size()))
                                             : t.name);
  return text;
}

std::string text_layers(const std::vector<std::string>& targets) {
  return fmt::format("(?!.*(?:vision|audio|projector|connector))(?:.*\\.)?(?:{})",
                     join(targets, "|"));
}

}  // namespace hone

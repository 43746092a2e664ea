// Saving: the files of a Transformers model folder.
#include <filesystem>

#include "learn/checkpoint/safetensors/stacked_weights.h"
#include "learn/checkpoint/safetensors/strict_json.h"
#include "learn/checkpoint/torch/torch_writer.h"
#include "learn/models/adapter_config.h"
#include "learn/models/timm_config.h"
#include "learn/pretrained/mxfp4.h"
#include "learn/pretrained/pretrained.h"
#include "learn/pretrained/weights.h"
#include "learn/tokenizers/load/load.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

constexpr const char* kStem = "model";

std::string torch_name(DType t) {
  switch (t) {
    case DType::bf16:
      return "bfloat16";
    case DType::f16:
      return "float16";
    case DType::f64:
      return "float64";
    default:
      return "float32";
  }
}

Status save_json(const std::string& folder, const std::string& name, const nlohmann::json& value) {
  return file_store().write((fs::path(folder) / name).string(), json_text(value) + "\n");
}

// Reads one shard after the other, so that memory holds one shard.
Status copy_shards(const std::string& folder, const WeightSource& weights,
                   const std::vector<TensorData>& tensors, const std::vector<std::string>& sources,
                   const ShardPlan& plan) {
  for (size_t k = 0; k < plan.files.size(); ++k) {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<TensorData> members;
    for (const size_t i : plan.members[k]) {
      TensorData t = tensors[i];
      if (t.blocks) {
        members.push_back(std::move(t));
        continue;
      }
      bytes.emplace_back(static_cast<size_t>(t.type.bytes()));
      HONE_TRY(weights.read(sources[i], t.type.dtype, bytes.back()));
      t.bytes = bytes.back();
      members.push_back(std::move(t));
    }
    if (plan.files.size() == 1) return save_safetensors(folder, kStem, members);
    HashedFile file = HONE_TRY(HashedFile::create((fs::path(folder) / plan.files[k]).string()));
    HONE_TRY(write_safetensors(file, members));
    HONE_TRY(file.commit());
  }
  return file_store().write(fmt::format("{}/{}.safetensors.index.json", folder, kStem), plan.index);
}

}  // namespace

std::string second_name(const ModelConfig& c, const std::string& name) {
  constexpr std::string_view kBias = ".decoder.bias";
  if (c.head != Head::masked_lm || c.tied || !name.ends_with(kBias)) return "";
  return fmt::format("{}.bias", name.substr(0, name.size() - kBias.size()));
}

Status save_model_files(const std::string& folder, const Pretrained& model, DType dtype,
                        bool in_blocks) {
  HONE_TRY(file_store().make_dirs(folder));
  HONE_TRY(write_trained_task(folder, model.trained));
  const bool own_generation = !model.config.adapter || !model.trained.settings.empty();
  if (own_generation && !model.generation_config.empty())
    HONE_TRY(save_json(folder, "generation_config.json", model.generation_config));
  if (model.config.adapter) {
    Json config = adapter_config(model.config, model.name);
    if (model.whole && config["target_modules"].is_array())
      config["target_modules"] =
          text_layers(config["target_modules"].get<std::vector<std::string>>());
    HONE_TRY(save_json(folder, kAdapterConfigFile, config));
    return model.tokenizer ? save_tokenizer(*model.tokenizer, folder) : Status(Ok{});
  }
  if (model.config.timm) return save_json(folder, "config.json", timm_config_of(model.config));
  nlohmann::json config =
      model.whole ? model.whole->config_with(model.config) : model.config.config;
  if (!model.whole) config["architectures"] = {architecture_of(model.config)};
  config.erase("torch_dtype");
  config["dtype"] = torch_name(dtype);
  if (!in_blocks) config.erase("quantization_config");
  if (!model.trained.params_key.empty()) {
    nlohmann::json& tasks = config["task_specific_params"];
    if (!tasks.is_object()) tasks = nlohmann::json::object();
    tasks[model.trained.params_key] = model.trained.params;
  }
  HONE_TRY(save_json(folder, "config.json", config));
  if (model.whole) HONE_TRY(model.whole->copy_files(folder));
  if (model.tokenizer) HONE_TRY(save_tokenizer(*model.tokenizer, folder));
  return Ok{};
}

namespace {

// Tensors of a weight source under the model's names.
struct Copied {
  std::vector<TensorData> tensors;   // without bytes
  std::vector<std::string> sources;  // beside them; "": the tensor has `blocks`
  // The type of most elements: norms of a half-precision GGUF file are f32 beside f16 matrices.
  DType most = DType::f32;
  bool in_blocks = false;  // some are in MXFP4
};

Result<Copied> copied(const WeightSource& weights, const Pretrained& model,
                      std::optional<DType> as) {
  HONE_TRY(check_weights(weights, model.config));
  Copied c;
  std::map<DType, int64_t> elements;
  for (const ParamSpec& spec : family_of(model.config).params(model.config)) {
    if (!spec.trained && find_weight(weights, model.config, spec) == nullptr) continue;
    const TensorInfo* t = HONE_TRY(require_weight(weights, model.config, spec));
    const DType dtype = as.value_or(t->scheme.empty() ? t->type.dtype : DType::f32);
    const std::string name = model.whole ? model.whole->name_of(spec.name) : spec.name;
    if (!as && !model.whole && t->blocks == kMxfp4 && is_in_mxfp4(model.config)) {
      for (TensorData& one : mxfp4_pair(weights, *t, name)) {
        c.tensors.push_back(std::move(one));
        c.sources.emplace_back();
      }
      c.in_blocks = true;
      continue;
    }
    elements[dtype] += t->type.count();
    if (is_stacked(name)) {
      for (TensorData& one : split_stacked({tensor_of(weights, t->name, name, dtype)})) {
        c.tensors.push_back(std::move(one));
        c.sources.emplace_back();
      }
      continue;
    }
    c.tensors.push_back({name, {dtype, spec.shape}, {}, {}});
    c.sources.push_back(t->name);
    if (std::string second = second_name(model.config, spec.name); !second.empty()) {
      c.tensors.push_back({std::move(second), {dtype, spec.shape}, {}, {}});
      c.sources.push_back(t->name);
    }
  }
  for (const auto& [dtype, count] : elements)
    if (count > elements[c.most]) c.most = dtype;
  if (!model.whole) return c;
  for (TensorData& other : HONE_TRY(model.whole->others())) {
    c.tensors.push_back(std::move(other));
    c.sources.emplace_back();
  }
  return c;
}

Status write_torch(const std::string& path, const WeightSource& weights, const Copied& c) {
  return save_torch(path, c.tensors, [&](size_t i, std::span<std::byte> out) -> Status {
    if (!c.tensors[i].blocks) return weights.read(c.sources[i], c.tensors[i].type.dtype, out);
    size_t done = 0;
    return c.tensors[i].blocks([&](std::span<const std::byte> block) -> Status {
      std::copy(block.begin(), block.end(), out.begin() + static_cast<std::ptrdiff_t>(done));
      done += block.size();
      return Ok{};
    });
  });
}

}  // namespace

Status save_pretrained(const std::string& folder, const WeightSource& weights,
                       const Pretrained& model, std::optional<DType> as,
                       const std::string& torch_file) {
  const Copied c = HONE_TRY(copied(weights, model, as));
  HONE_TRY(save_model_files(folder, model, c.most, c.in_blocks));
  if (!torch_file.empty()) return write_torch((fs::path(folder) / torch_file).string(), weights, c);
  return copy_shards(folder, weights, c.tensors, c.sources,
                     plan_shards(kStem, c.tensors, kDefaultShardSize));
}

Status save_torch_weights(const std::string& path, const WeightSource& weights,
                          const Pretrained& model, std::optional<DType> as) {
  return write_torch(path, weights, HONE_TRY(copied(weights, model, as)));
}

}  // namespace hone

// Matrices of experts that stay in the blocks of their file: the same model as with the floats of the file.
#include <gtest/gtest.h>

#include <fstream>

#include "base/store/temporary_folder.h"
#include "engine/ops/block_schemes.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/pretrained/mxfp4.h"
#include "learn/pretrained/random_model_test.h"
#include "learn/pretrained/stored.h"

namespace hone {
namespace {

nlohmann::json config_with_experts(const std::string& type, const nlohmann::json& own) {
  nlohmann::json json = usual_config(type, "").value();
  json.update({{"hidden_size", 32},
               {"num_hidden_layers", 2},
               {"num_attention_heads", 4},
               {"num_key_value_heads", 2},
               {"head_dim", 8},
               {"vocab_size", 32},
               {"intermediate_size", 64},
               {"max_position_embeddings", 64}});
  json.update(own);
  return json;
}

// The model has its experts in blocks of the scheme, and the logits that it has with floats.
void expect_same_in_blocks(const std::string& path, const std::string& scheme) {
  const Pretrained wide = open_pretrained(path, {.need_tokenizer = false}).value();
  EXPECT_EQ(wide.config.quantization, nullptr);
  OpenOptions options{.need_tokenizer = false};
  options.quantization = as_stored();
  const Pretrained stored = open_pretrained(path, options).value();
  int64_t matrices = 0;
  for (const ParamSpec& spec : family_of(stored.config).params(stored.config)) {
    if (spec.shape.size() != 3) continue;
    EXPECT_EQ(spec.scheme, scheme) << spec.name;
    EXPECT_EQ(kept_states(spec).front().type.bytes(),
              find_weight(*stored.weights, stored.config, spec)->bytes);
    ++matrices;
  }
  EXPECT_GE(matrices, 4);
  EXPECT_EQ(logits_of_texts(stored), logits_of_texts(wide));
}

TEST(StoredExperts, OfAGgufFileStayInItsBlocks) {
  const std::pair<const char*, nlohmann::json> cases[] = {
      {"gpt_oss", {{"num_local_experts", 4}, {"num_experts_per_tok", 2}, {"sliding_window", 4}}},
      {"qwen3_moe",
       {{"num_experts", 4},
        {"num_experts_per_tok", 2},
        {"moe_intermediate_size", 64},
        {"norm_topk_prob", true}}},
      {"gemma4_text",
       {{"num_experts", 4},
        {"top_k_experts", 2},
        {"moe_intermediate_size", 64},
        {"enable_moe_block", true},
        {"global_head_dim", 16},
        {"hidden_size_per_layer_input", 0}}}};
  const TemporaryFolder folder;
  for (const auto& [type, own] : cases) {
    SCOPED_TRACE(type);
    const Pretrained model =
        random_model(read_model_config(config_with_experts(type, own)).value());
    const std::string path = fmt::format("{}/{}.gguf", folder.path, type);
    const Status saved = save_gguf(path, *model.weights, model, "q8_0");
    ASSERT_TRUE(saved.ok()) << saved.error().text();
    expect_same_in_blocks(path, "q8_0");
  }
}

// A folder of gpt-oss with random blocks and scales.
void write_mxfp4(const std::string& folder, const nlohmann::json& config) {
  const ModelConfig c = read_model_config(config).value();
  const RandomWeights random(c);
  PhiloxStream bytes(dropout_key(3, 0, 1), 0);
  const auto byte = [&](double least, double most) {
    const double x = 0.5 + 0.2 * bytes.next_normal();
    return static_cast<std::byte>(std::clamp(least + x * (most - least), least, most));
  };
  std::vector<std::vector<std::byte>> data;
  std::vector<TensorData> tensors;
  const auto add = [&](const std::string& name, Type type) -> std::vector<std::byte>& {
    data.emplace_back(static_cast<size_t>(type.bytes()));
    tensors.push_back({name, std::move(type), {}, {}});
    return data.back();
  };
  for (const ParamSpec& spec : family_of(c).params(c)) {
    if (spec.shape.size() != 3) {
      ASSERT_TRUE(
          random.read(spec.name, DType::f32, add(spec.name, {DType::f32, spec.shape})).ok());
      continue;
    }
    const int64_t E = spec.shape[0], K = spec.shape[1], M = spec.shape[2];
    for (std::byte& b : add(spec.name + "_blocks", {DType::u8, {E, M, K / 32, 16}}))
      b = byte(0, 255);
    for (std::byte& b : add(spec.name + "_scales", {DType::u8, {E, M, K / 32}})) b = byte(120, 126);
  }
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i].bytes = data[i];
  ASSERT_TRUE(save_safetensors(folder, "model", tensors).ok());
  std::ofstream(folder + "/config.json") << config.dump();
}

TEST(StoredExperts, OfGptOssStayInMxfp4) {
  nlohmann::json config = config_with_experts(
      "gpt_oss", {{"num_local_experts", 4}, {"num_experts_per_tok", 2}, {"sliding_window", 4}});
  config["quantization_config"] = {{"quant_method", "mxfp4"}};
  const TemporaryFolder folder;
  write_mxfp4(folder.path, config);
  expect_same_in_blocks(folder.path, kMxfp4);
  // Written again as it is, the folder has the same blocks, and floats with a type.
  const Pretrained model = open_pretrained(folder.path, {.need_tokenizer = false}).value();
  const TemporaryFolder same, wide;
  ASSERT_TRUE(save_pretrained(same.path, *model.weights, model).ok());
  ASSERT_TRUE(save_pretrained(wide.path, *model.weights, model, DType::f32).ok());
  const auto tensors_of = [](const std::string& path) {
    return std::move(open_weights(path + "/model.safetensors").value());
  };
  const auto before = tensors_of(folder.path), after = tensors_of(same.path);
  ASSERT_EQ(after->tensors().size(), before->tensors().size());
  for (const TensorInfo& t : before->tensors()) {
    std::vector<std::byte> one(static_cast<size_t>(t.bytes)), two(one.size());
    ASSERT_EQ(after->find(t.name)->type, t.type) << t.name;
    ASSERT_TRUE(before->read(t.name, t.type.dtype, one).ok());
    ASSERT_TRUE(after->read(t.name, t.type.dtype, two).ok());
    EXPECT_EQ(one, two) << t.name;
  }
  expect_same_in_blocks(same.path, kMxfp4);
  const Pretrained floats = open_pretrained(wide.path, {.need_tokenizer = false}).value();
  EXPECT_FALSE(floats.config.config.contains("quantization_config"));
  EXPECT_EQ(logits_of_texts(floats), logits_of_texts(model));
  // The config alone is enough.
  OpenOptions options{.need_weights = false, .need_tokenizer = false};
  options.quantization = as_stored();
  const Pretrained planned = open_pretrained(folder.path, options).value();
  for (const ParamSpec& spec : family_of(planned.config).params(planned.config))
    EXPECT_EQ(spec.scheme, spec.shape.size() == 3 ? "mxfp4" : "") << spec.name;
}

}  // namespace
}  // namespace hone

// Text models inside models that also see (tests/goldens/whole_models, made again by
// tools/golden_whole_models.py): read, saved, and every other tensor as it was.
#include "learn/pretrained/whole_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/store/temporary_folder.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/checkpoint/safetensors/errors.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/pretrained/pretrained.h"

namespace hone {
namespace {

const std::string kWholeModels = std::string(HONE_SOURCE_DIR) + "/tests/goldens/whole_models/";

std::vector<std::byte> bytes_in(const WeightSource& w, const TensorInfo& t) {
  std::vector<std::byte> bytes(static_cast<size_t>(t.type.bytes()));
  EXPECT_TRUE(w.read(t.name, t.type.dtype, bytes).ok()) << t.name;
  return bytes;
}

Pretrained open_whole(const std::string& folder) {
  Result<Pretrained> model = open_pretrained(folder, {.need_tokenizer = false});
  EXPECT_TRUE(model.ok()) << model.error().text();
  return std::move(*model);
}

class WholeModels : public testing::TestWithParam<std::string> {
 protected:
  const std::string folder_ = kWholeModels + GetParam();
  TemporaryFolder temporary_;
};

TEST_P(WholeModels, TheFolderIsWrittenBackWithEveryTensor) {
  const Pretrained model = open_whole(folder_);
  ASSERT_TRUE(model.whole);
  EXPECT_TRUE(model.config.tied);
  EXPECT_EQ(model.config.vocab, 660);
  const std::string out = temporary_.path + "/out";
  ASSERT_TRUE(save_pretrained(out, *model.weights, model).ok());
  const auto before = std::move(open_weights(folder_).value()),
             after = std::move(open_weights(out).value());
  EXPECT_EQ(after->tensors().size(), before->tensors().size());
  int64_t eyes = 0;
  for (const TensorInfo& t : before->tensors()) {
    const TensorInfo* there = after->find(t.name);
    ASSERT_NE(there, nullptr) << t.name;
    EXPECT_EQ(there->type, t.type);
    EXPECT_EQ(bytes_in(*before, t), bytes_in(*after, *there)) << t.name;
    eyes +=
        t.name.find("vision_tower.") != std::string::npos || t.name.starts_with("model.visual.");
  }
  EXPECT_GT(eyes, 5);
  const auto read = [](const std::string& path) {
    return nlohmann::json::parse(std::ifstream(path));
  };
  const nlohmann::json config = read(folder_ + "/config.json"), saved = read(out + "/config.json");
  EXPECT_EQ(saved["architectures"], config["architectures"]);
  EXPECT_EQ(saved["vision_config"], config["vision_config"]);
  for (const auto& [key, value] : config["text_config"].items())
    if (key != "tie_word_embeddings") {
      EXPECT_EQ(saved["text_config"][key], value) << key;
    }
  EXPECT_TRUE(std::filesystem::exists(out + "/preprocessor_config.json"));
  // And once more from there.
  EXPECT_EQ(open_whole(out).weights->tensors().size(), model.weights->tensors().size());
}

INSTANTIATE_TEST_SUITE_P(All, WholeModels,
                         testing::Values("gemma3_tiny", "gemma4_tiny", "mistral3_tiny",
                                         "qwen3_5_tiny"),
                         [](const auto& info) { return info.param; });

TEST(WholeModel, NamesOfPartsAndAdapters) {
  WholeModel whole;
  EXPECT_EQ(whole.name_of("model.norm.weight"), "language_model.model.norm.weight");
  EXPECT_EQ(whole.name_of("lm_head.weight"), "language_model.lm_head.weight");
  EXPECT_EQ(whole.name_of("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"),
            "base_model.model.model.language_model.layers.0.self_attn.q_proj.lora_A.weight");
  EXPECT_EQ(whole.name_of("base_model.model.lm_head.lora_A.weight"),
            "base_model.model.lm_head.lora_A.weight");
  EXPECT_FALSE(text_config_of({{"model_type", "llama"}, {"text_config", {{"hidden_size", 8}}}}));
  const auto text = text_config_of({{"model_type", "gemma3"}, {"text_config", {{"a", 1}}}});
  ASSERT_TRUE(text);
  EXPECT_EQ((*text)["model_type"], "gemma3_text");
}

// A tensor in a form that cannot be copied bit for bit is named before anything is written.
class OddWeights final : public WeightSource {
 public:
  OddWeights() {
    TensorInfo t;
    t.name = "vision_tower.w";
    t.type = {DType::f32, {2, 2}};
    t.file = "odd.safetensors";
    t.scheme = "F8_E4M3";
    add(t);
  }

 protected:
  Status read_tensor(size_t, DType, std::span<std::byte>) const override { return Ok{}; }
};

TEST(WholeModel, RefusesTensorsThatCannotBeCopied) {
  WholeModel whole;
  EXPECT_EQ(text_weights(std::make_unique<OddWeights>(), whole)->tensors().size(), 0u);
  const Result<std::vector<TensorData>> others = whole.others();
  ASSERT_FALSE(others.ok());
  EXPECT_TRUE(others.error().is(err::kTensorConversion));
}

}  // namespace
}  // namespace hone

// config.json of T5 and mT5: what is read from it and what is refused; buckets of distances.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "learn/models/family.h"

namespace hone {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

json small_t5(const char* type) {
  return {{"model_type", type}, {"is_encoder_decoder", true}, {"vocab_size", 30}, {"d_model", 8},
          {"num_layers", 2},    {"num_decoder_layers", 1},    {"num_heads", 3},   {"d_kv", 4},
          {"d_ff", 6},          {"pad_token_id", 0},          {"eos_token_id", 1}};
}

ModelConfig opened(const json& config) { return read_model_config(config).value(); }

std::string t5_refusal(const json& config) {
  const Result<ModelConfig> c = read_model_config(config);
  return c.ok() ? std::string("opened") : c.error().text();
}

const ParamSpec* find(const std::vector<ParamSpec>& list, const std::string& name) {
  for (const ParamSpec& p : list)
    if (p.name == name) return &p;
  return nullptr;
}

TEST(T5, TheConfigSaysSizesAndTokens) {
  json config = small_t5("t5");
  ModelConfig c = opened(config);
  EXPECT_EQ(c.head, Head::seq2seq_lm);
  EXPECT_EQ(c.layers, 1);
  EXPECT_EQ(c.heads, 3);
  EXPECT_EQ(c.encoder_heads, 3);
  EXPECT_EQ(c.head_dim, 4);
  EXPECT_EQ(c.decoder_start, 0);
  EXPECT_EQ(c.padding_token, -1);  // every row of the embedding is trained
  EXPECT_TRUE(c.tied);
  config["decoder_start_token_id"] = 7;
  config.erase("num_decoder_layers");
  c = opened(config);
  EXPECT_EQ(c.decoder_start, 7);
  EXPECT_EQ(c.layers, 2);
  EXPECT_FALSE(family_of(c).safe_in_f16);
}

TEST(T5, WeightsFollowTheMlpAndTheTie) {
  json config = small_t5("t5");
  config["initializer_factor"] = 0.5;
  std::vector<ParamSpec> list = family_of(opened(config)).params(opened(config));
  EXPECT_EQ(find(list, "lm_head.weight"), nullptr);
  EXPECT_EQ(find(list, "encoder.block.0.layer.1.DenseReluDense.wi_0.weight"), nullptr);
  ASSERT_NE(find(list, "encoder.block.1.layer.1.DenseReluDense.wi.weight"), nullptr);
  EXPECT_EQ(find(list, "decoder.block.1.layer.0.SelfAttention.q.weight"), nullptr);
  const ParamSpec* bias =
      find(list, "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
  ASSERT_NE(bias, nullptr);
  EXPECT_EQ(bias->shape, (Shape{32, 3}));
  EXPECT_FALSE(bias->decay);
  EXPECT_EQ(find(list, "encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight"),
            nullptr);
  const ParamSpec* q = find(list, "decoder.block.0.layer.1.EncDecAttention.q.weight");
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(q->shape, (Shape{12, 8}));
  EXPECT_DOUBLE_EQ(q->std, 0.5 / std::sqrt(8.0 * 4.0));
  EXPECT_DOUBLE_EQ(find(list, "encoder.block.0.layer.1.DenseReluDense.wo.weight")->std,
                   0.5 / std::sqrt(6.0));
  EXPECT_DOUBLE_EQ(find(list, "shared.weight")->std, 0.5);

  list = family_of(opened(small_t5("umt5"))).params(opened(small_t5("umt5")));
  EXPECT_NE(find(list, "encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight"),
            nullptr);

  config = small_t5("mt5");
  config["tie_word_embeddings"] = false;
  list = family_of(opened(config)).params(opened(config));
  EXPECT_NE(find(list, "lm_head.weight"), nullptr);
  EXPECT_NE(find(list, "decoder.block.0.layer.2.DenseReluDense.wi_1.weight"), nullptr);
  EXPECT_EQ(find(list, "decoder.block.0.layer.2.DenseReluDense.wi.weight"), nullptr);
}

TEST(T5, BucketsAreThoseOfTransformers) {
  const json facts = json::parse(
      std::ifstream(std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/t5_tiny/golden.json"));
  for (const json& golden : facts["relative_buckets"]) {
    json config = small_t5("t5");
    config["relative_attention_num_buckets"] = golden["buckets"];
    config["relative_attention_max_distance"] = golden["max_distance"];
    const ModelConfig c = opened(config);
    for (const ConstantTable& t : family_of(c).constants(c)) {
      const bool encoder = t.name == "encoder.relative_buckets";
      const auto want = golden[encoder ? "encoder" : "decoder"].get<std::vector<int64_t>>();
      const auto reach = static_cast<int64_t>(t.values.size() / 2);
      const auto least = static_cast<int64_t>(want.size() / 2);
      for (int64_t d = -least; d <= least; ++d)
        ASSERT_EQ(static_cast<int64_t>(
                      t.values[static_cast<size_t>(std::clamp(d, -reach, reach) + reach)]),
                  want[static_cast<size_t>(d + least)])
            << t.name << " of " << golden["buckets"] << " at " << d;
    }
  }
}

TEST(T5, WhatIsNotOfferedIsRefused) {
  json config = small_t5("umt6");
  EXPECT_THAT(t5_refusal(config), AllOf(HasSubstr("H2301  hone has no model family 'umt6'"),
                                        HasSubstr("did you mean 'umt5'?")));
  config = small_t5("t5");
  config["feed_forward_proj"] = "gated-tanh";
  EXPECT_THAT(t5_refusal(config), HasSubstr("feed_forward_proj 'gated-tanh' is not supported"));
  config = small_t5("t5");
  config["is_encoder_decoder"] = false;
  EXPECT_THAT(t5_refusal(config), HasSubstr("one half of an encoder-decoder"));
  config = small_t5("t5");
  config["relative_attention_max_distance"] = 16;
  EXPECT_THAT(t5_refusal(config), HasSubstr("leaves no room for 32"));
  config["relative_attention_num_buckets"] = 3;
  EXPECT_THAT(t5_refusal(config), HasSubstr("'relative_attention_num_buckets' is 3"));
  config = small_t5("t5");
  config["decoder_start_token_id"] = 30;
  EXPECT_THAT(t5_refusal(config), HasSubstr("decoder_start_token_id 30 is outside the vocabulary"));
  config = small_t5("t5");
  config["d_ff"] = 0;
  EXPECT_THAT(t5_refusal(config), HasSubstr("'d_ff' is 0"));
}

}  // namespace
}  // namespace hone

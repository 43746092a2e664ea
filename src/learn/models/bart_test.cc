// config.json of the encoder-decoders: what is read from it and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learn/models/family.h"

namespace hone {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

json small(const char* type) {
  return {{"model_type", type},
          {"is_encoder_decoder", true},
          {"vocab_size", 30},
          {"d_model", 8},
          {"encoder_layers", 1},
          {"decoder_layers", 2},
          {"encoder_ffn_dim", 6},
          {"decoder_ffn_dim", 10},
          {"pad_token_id", 1},
          {"decoder_start_token_id", 2},
          {"encoder_attention_heads", 4},
          {"decoder_attention_heads", 2}};
}

std::string refusal(const json& config) {
  const Result<ModelConfig> c = read_model_config(config);
  return c.ok() ? std::string("opened") : c.error().text();
}

bool has(const ModelConfig& c, const std::string& name) {
  for (const ParamSpec& p : family_of(c).params(c))
    if (p.name == name) return true;
  return false;
}

TEST(EncoderDecoders, TheConfigSaysSizesAndTokens) {
  const ModelConfig c = read_model_config(small("bart")).value();
  EXPECT_EQ(c.head, Head::seq2seq_lm);
  EXPECT_EQ(c.layers, 2);
  EXPECT_EQ(c.heads, 2);
  EXPECT_EQ(c.encoder_heads, 4);
  EXPECT_EQ(c.padding_token, 1);
  EXPECT_EQ(c.decoder_start, 2);
  EXPECT_EQ(read_model_config(small("mbart")).value().decoder_start, -1);
  EXPECT_EQ(architecture_of(c), "BartForConditionalGeneration");
  for (const auto& [type, name] : {std::pair{"mbart", "MBartForConditionalGeneration"},
                                   {"pegasus", "PegasusForConditionalGeneration"}})
    EXPECT_EQ(architecture_of(read_model_config(small(type)).value()), name);
}

TEST(EncoderDecoders, TiesDecideWhichEmbeddingsThereAre) {
  json config = small("bart");
  EXPECT_FALSE(has(read_model_config(config).value(), "lm_head.weight"));
  config["tie_word_embeddings"] = false;
  const ModelConfig apart = read_model_config(config).value();
  for (const char* name : {"model.shared.weight", "model.encoder.embed_tokens.weight",
                           "model.decoder.embed_tokens.weight", "lm_head.weight"})
    EXPECT_TRUE(has(apart, name)) << name;

  config = small("marian");
  config["share_encoder_decoder_embeddings"] = false;
  config["decoder_vocab_size"] = 20;
  const ModelConfig marian = read_model_config(config).value();
  EXPECT_EQ(marian.vocab, 20);
  EXPECT_EQ(marian.source_vocab, 30);
  EXPECT_FALSE(has(marian, "model.shared.weight"));
  EXPECT_FALSE(has(marian, "lm_head.weight"));  // the decoder's embedding
}

TEST(EncoderDecoders, WhatIsNotOfferedIsRefused) {
  EXPECT_THAT(
      refusal({{"model_type", "fsmt"}, {"is_encoder_decoder", true}}),
      AllOf(HasSubstr("H2301  hone has no model family 'fsmt'"), HasSubstr("bart, marian, mbart"),
            HasSubstr("pegasus"), Not(HasSubstr("gpt2"))));
  json config = small("bart");
  config["activation_function"] = "mish";
  EXPECT_THAT(refusal(config), HasSubstr("activation_function 'mish' is not supported"));
  config = small("pegasus");
  config["encoder_layerdrop"] = 0.1;
  EXPECT_THAT(refusal(config), HasSubstr("encoder_layerdrop 0.1 is not supported"));
  config = small("mbart");
  config["encoder_attention_heads"] = 3;
  EXPECT_THAT(refusal(config), HasSubstr("not a multiple of encoder_attention_heads 3"));
  config = small("marian");
  config["decoder_start_token_id"] = 30;
  EXPECT_THAT(refusal(config), HasSubstr("decoder_start_token_id 30 is outside the vocabulary"));
  config = small("bart");
  config["decoder_ffn_dim"] = 0;
  EXPECT_THAT(refusal(config), HasSubstr("'decoder_ffn_dim' is 0"));
  config = small("bart");
  config["is_encoder_decoder"] = false;
  EXPECT_THAT(refusal(config), HasSubstr("one half of an encoder-decoder"));
  ModelConfig c = read_model_config(small("bart")).value();
  EXPECT_THAT(set_head(c, Head::causal_lm).error().text(), HasSubstr("heads of bart: seq2seq_lm"));
}

TEST(EncoderDecoders, SinusoidsAreSortedIntoSinesAndCosines) {
  const std::vector<float> t = sinusoids(3, 5);  // columns: three sines, two cosines
  ASSERT_EQ(t.size(), 15u);
  EXPECT_FLOAT_EQ(t[0], 0);
  EXPECT_FLOAT_EQ(t[3], 1);
  EXPECT_FLOAT_EQ(t[10], static_cast<float>(std::sin(2.0)));
  EXPECT_FLOAT_EQ(t[11], static_cast<float>(std::sin(2.0 / std::pow(10000.0, 0.4))));
  EXPECT_FLOAT_EQ(t[14], static_cast<float>(std::cos(2.0 / std::pow(10000.0, 0.4))));
}

}  // namespace
}  // namespace hone

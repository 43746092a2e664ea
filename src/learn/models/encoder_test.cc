// Config keys, names and dropouts of BERT and RoBERTa; their numbers are tested where programs run
// (learn/tasks/encoder_parity_test.cc).
#include "learn/models/encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learn/models/errors.h"

namespace hone {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

json tiny(const std::string& type) {
  return {{"model_type", type},
          {"vocab_size", 61},
          {"hidden_size", 16},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 2},
          {"intermediate_size", 24},
          {"hidden_act", "gelu"},
          {"hidden_dropout_prob", 0.1},
          {"max_position_embeddings", 34},
          {"classifier_dropout", 0.3},
          {"attention_probs_dropout_prob", 0.2}};
}

std::string encoder_refusal(const std::string& key, const json& value,
                            const std::string& type = "roberta") {
  json config = tiny(type);
  config[key] = value;
  const Result<ModelConfig> c = read_model_config(config);
  return c.ok() ? "" : c.error().text();
}

TEST(Encoder, ConfigsThatAreNoEncoderAreRefused) {
  EXPECT_EQ(encoder_refusal("hidden_act", "silu"), "");
  EXPECT_THAT(encoder_refusal("hidden_act", "mish"),
              HasSubstr("hidden_act 'mish' is not supported"));
  EXPECT_THAT(encoder_refusal("position_embedding_type", "relative_key"),
              HasSubstr("relative_key"));
  EXPECT_THAT(encoder_refusal("is_decoder", true), HasSubstr("is_decoder is not supported"));
  EXPECT_THAT(encoder_refusal("add_cross_attention", true), HasSubstr("add_cross_attention"));
  EXPECT_THAT(encoder_refusal("num_attention_heads", 3), HasSubstr("not a multiple"));
  EXPECT_THAT(encoder_refusal("hidden_dropout_prob", 1.5),
              HasSubstr("'hidden_dropout_prob' is 1.5"));
  EXPECT_THAT(encoder_refusal("type_vocab_size", 0), HasSubstr("type_vocab_size"));
  EXPECT_THAT(encoder_refusal("pad_token_id", 61), HasSubstr("outside the vocabulary"));
  EXPECT_THAT(encoder_refusal("pad_token_id", 33), HasSubstr("leaves no position"));
  EXPECT_THAT(encoder_refusal("pad_token_id", nullptr), HasSubstr("pad_token_id"));
  EXPECT_EQ(encoder_refusal("pad_token_id", 33, "bert"), "");
}

TEST(Encoder, PositionsOfRobertaBeginAfterThePaddingToken) {
  EXPECT_EQ(read_model_config(tiny("bert"))->max_positions, 34);
  EXPECT_EQ(read_model_config(tiny("roberta"))->max_positions, 32);
}

// As Transformers' create_position_ids_from_input_ids, less padding_idx + 1.
TEST(Encoder, RobertaCountsNoPaddingInATextAndBertDoes) {
  const std::vector<int32_t> ids = {0, 7, 1, 8, 1, 2, 0, 9, 2};
  const std::vector<int32_t> plain = {0, 1, 2, 3, 4, 5, 0, 1, 2};
  std::vector<int32_t> positions = plain;
  count_positions(*read_model_config(tiny("roberta")), ids, positions);
  EXPECT_THAT(positions, testing::ElementsAre(0, 1, -1, 2, -1, 3, 0, 1, 2));
  positions = plain;
  count_positions(*read_model_config(tiny("bert")), ids, positions);
  EXPECT_EQ(positions, plain);
}

TEST(Encoder, HeadAndLabelsAreThoseOfTheConfig) {
  json config = tiny("bert");
  EXPECT_EQ(read_model_config(config)->head, Head::masked_lm);
  config["architectures"] = {"BertModel"};
  EXPECT_EQ(read_model_config(config)->head, Head::none);
  config["architectures"] = {"BertForSequenceClassification"};
  config["id2label"] = {{"0", "no"}, {"1", "yes"}, {"2", "perhaps"}};
  ModelConfig c = read_model_config(config).value();
  EXPECT_EQ(c.head, Head::sequence_classification);
  EXPECT_EQ(c.labels, 3);
  ASSERT_TRUE(set_head(c, Head::token_classification, 5).ok());
  EXPECT_EQ(architecture_of(c), "BertForTokenClassification");
  const std::vector<ParamSpec> params = family_of(c).params(c);
  EXPECT_EQ(params[params.size() - 2].name, "classifier.weight");
  EXPECT_EQ(params[params.size() - 2].shape, (Shape{5, 16}));
  EXPECT_FALSE(set_head(c, Head::causal_lm).ok());
}

TEST(Encoder, WeightsHaveOtherNamesInOtherCheckpoints) {
  ModelConfig c = read_model_config(tiny("bert")).value();
  const Family& f = family_of(c);
  auto other_names = [&](const std::string& name) {
    for (const ParamSpec& p : f.params(c))
      if (p.name == name) return f.other_names(c, p);
    return std::vector<std::string>{};
  };
  const auto norm = other_names("bert.embeddings.LayerNorm.weight");
  for (const char* name : {"embeddings.LayerNorm.weight", "bert.embeddings.LayerNorm.gamma",
                           "embeddings.LayerNorm.gamma"})
    EXPECT_THAT(norm, Contains(name));
  EXPECT_THAT(other_names("cls.predictions.bias"), Contains("cls.predictions.decoder.bias"));
  EXPECT_THAT(other_names("bert.embeddings.word_embeddings.weight"),
              Contains("cls.predictions.decoder.weight"));
}

// The rows of the padding token begin as zeros, like those of torch's padding_idx.
TEST(Encoder, PaddingRowsBeginAsZeros) {
  for (auto [type, of_words, of_positions] :
       {std::tuple{"bert", int64_t{0}, int64_t{-1}}, {"roberta", int64_t{1}, int64_t{1}}}) {
    const ModelConfig c = read_model_config(tiny(type)).value();
    for (const ParamSpec& p : family_of(c).params(c)) {
      const bool words = p.name.ends_with("word_embeddings.weight"),
                 positions = p.name.ends_with("position_embeddings.weight");
      EXPECT_EQ(p.zero_row, words ? of_words : positions ? of_positions : -1) << p.name;
    }
  }
}

// Every place that drops draws a mask of its own, with the share of the config.
TEST(Encoder, DropoutsAreThoseOfTheConfig) {
  for (const char* type : {"bert", "roberta"}) {
    ModelConfig c = read_model_config(tiny(type)).value();
    ASSERT_TRUE(set_head(c, Head::sequence_classification, 3).ok());
    Program p(op_table(), "train");
    Builder b(p);
    ModelGraph g(b, c, ModelGraph::Mode::train);
    g.ids = p.add_input("ids", {DType::i32, {8}});
    g.positions = p.add_input("positions", {DType::i32, {8}});
    g.cu_seqlens = p.add_input("cu_seqlens", {DType::i32, {3}});
    g.sample_ids = p.add_input("sample_ids", {DType::i64, {8}});
    g.rng = p.add_input("rng", {DType::i64, {2}});
    add_model_states(g, true);
    const HeadLayer head = model_head(g);
    EXPECT_EQ(p.type(logits_of(b, head)).shape, (Shape{2, 3}));

    std::multiset<double> shares;
    std::multiset<std::string> keys;
    for (const Node& n : p.nodes) {
      if (n.op->name == "attention") {
        EXPECT_FALSE(n.attrs.flag("causal"));
        shares.insert(n.attrs.real("dropout"));
      }
      if (n.op->name == "dropout") {
        shares.insert(n.attrs.real("p"));
        keys.insert(n.attrs.text("key"));
      }
    }
    EXPECT_EQ(shares.count(0.2), 2u);  // attention
    EXPECT_EQ(shares.count(0.1), 5u);  // embeddings, blocks
    EXPECT_EQ(shares.count(0.3), type == std::string("roberta") ? 2u : 1u) << type;  // head
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size()) << type;
  }
}

}  // namespace
}  // namespace hone

// Config keys, names and dropouts of encoders; their numbers are tested where programs run
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

// The usual config of a type with other values; the refusal, "" if there is none.
std::string usual_refusal(const std::string& type, const json& keys) {
  json config = usual_config(type, "").value();
  config.update(keys);
  const Result<ModelConfig> c = read_model_config(config);
  return c.ok() ? "" : c.error().text();
}

TEST(EncoderFamilies, ValuesThatTheGraphHasNotAreRefused) {
  EXPECT_THAT(usual_refusal("mpnet", {{"relative_attention_num_buckets", 16}}),
              HasSubstr("'relative_attention_num_buckets' is 16"));
  EXPECT_THAT(usual_refusal("albert", {{"num_hidden_groups", 13}}),
              HasSubstr("'num_hidden_groups' is 13"));
  EXPECT_THAT(usual_refusal("albert", {{"inner_group_num", 0}}),
              HasSubstr("'inner_group_num' is 0"));
  EXPECT_THAT(usual_refusal("electra", {{"embedding_size", 0}}),
              HasSubstr("'embedding_size' is 0"));
  EXPECT_THAT(usual_refusal("modernbert", {{"classifier_pooling", "max"}}),
              HasSubstr("classifier_pooling 'max' is not supported"));
  EXPECT_THAT(usual_refusal("modernbert", {{"hidden_activation", "tanh"}}),
              HasSubstr("hidden_activation 'tanh' is not supported in an MLP with a gate"));
  EXPECT_THAT(usual_refusal("modernbert",
                            {{"rope_parameters", {{"full_attention", {{"rope_type", "yarn"}}}}}}),
              HasSubstr("rope_type 'yarn' is not supported"));
  EXPECT_THAT(usual_refusal("eurobert", {{"classifier_pooling", "max"}}),
              HasSubstr("late, mean and bos work"));
  EXPECT_THAT(usual_refusal("nomic_bert", {{"head_dim", 32}}), HasSubstr("a head_dim other than"));
  EXPECT_THAT(usual_refusal("gte", {{"position_embedding_type", "absolute"}}),
              HasSubstr("position_embedding_type 'absolute' is not supported"));
  EXPECT_THAT(usual_refusal("gte", {{"rope_scaling", {{"type", "ntk"}, {"factor", 8}}}}),
              HasSubstr("rope_type 'ntk' is not supported"));
  EXPECT_THAT(usual_refusal("deberta-v2", {{"pos_att_type", "p2c|p2p"}}),
              HasSubstr("pos_att_type 'p2p' is not supported"));
  EXPECT_THAT(usual_refusal("deberta-v2", {{"conv_kernel_size", 2}}),
              HasSubstr("conv_kernel_size 2 is not supported"));
  EXPECT_THAT(usual_refusal("deberta-v2", {{"position_buckets", 2}, {"relative_attention", true}}),
              HasSubstr("position_buckets below 3"));
  EXPECT_THAT(usual_refusal("deberta", {{"talking_head", true}}), HasSubstr("talking_head"));
}

// Keys of the code that first came with Nomic's models.
TEST(EncoderFamilies, NomicBertIsReadInBothForms) {
  json first{{"model_type", "nomic_bert"},
             {"vocab_size", 40},
             {"n_embd", 16},
             {"n_layer", 2},
             {"n_head", 2},
             {"n_inner", 24},
             {"activation_function", "swiglu"},
             {"rotary_emb_base", 1000},
             {"max_trained_positions", 48},
             {"n_positions", 96},
             {"type_vocab_size", 2},
             {"resid_pdrop", 0.0},
             {"attn_pdrop", 0.0},
             {"embd_pdrop", 0.0},
             {"prenorm", false},
             {"layer_norm_epsilon", 1e-12}};
  const ModelConfig c = read_model_config(first).value();
  EXPECT_EQ(c.max_positions, 48);
  json now = usual_config("nomic_bert",
                          "vocab_size=40,hidden_size=16,num_hidden_layers=2,"
                          "num_attention_heads=2,intermediate_size=24")
                 .value();
  const ModelConfig d = read_model_config(now).value();
  const auto names = [](const ModelConfig& config) {
    std::vector<std::string> all;
    for (const ParamSpec& p : family_of(config).params(config)) all.push_back(p.name);
    return all;
  };
  EXPECT_EQ(names(c), names(d));
  EXPECT_EQ(family_of(c).constants(c)[0].values, family_of(d).constants(d)[0].values);
  first["prenorm"] = true;
  EXPECT_THAT(read_model_config(first).error().text(), HasSubstr("prenorm is not supported"));
  first["prenorm"] = false;
  first["activation_function"] = "gelu";
  EXPECT_THAT(read_model_config(first).error().text(),
              HasSubstr("activation_function 'gelu' is not supported"));
  first["activation_function"] = "swiglu";
  first["num_experts"] = 8;
  EXPECT_THAT(read_model_config(first).error().text(), HasSubstr("experts are not supported"));
}

// GTE under the type of its first code: another prefix, and a base of the rotation that is scaled.
TEST(EncoderFamilies, GteUnderItsFirstTypeScalesTheRotation) {
  json config = usual_config("gte",
                             "vocab_size=40,hidden_size=16,num_hidden_layers=1,"
                             "num_attention_heads=2,intermediate_size=24")
                    .value();
  config.erase("rope_parameters");
  config["model_type"] = "new";
  config["rope_theta"] = 20000;
  config["rope_scaling"] = {{"type", "ntk"}, {"factor", 8.0}};
  const ModelConfig c = read_model_config(config).value();
  EXPECT_EQ(architecture_of(c), "NewForMaskedLM");
  EXPECT_EQ(family_of(c).params(c).front().name, "new.embeddings.word_embeddings.weight");
  const std::vector<float> f = family_of(c).constants(c)[0].values;
  ASSERT_EQ(f.size(), 4u);
  for (size_t i = 0; i < f.size(); ++i)
    EXPECT_NEAR(f[i], std::pow(160000.0, -static_cast<double>(2 * i) / 8) / std::pow(8.0, 2.0 / 8),
                1e-6);
  config["logn_attention_scale"] = true;
  EXPECT_THAT(read_model_config(config).error().text(),
              HasSubstr("logn_attention_scale is not supported"));
}

// Rotations of ModernBERT in configs of Transformers 4.
TEST(EncoderFamilies, ModernBertHasABaseForEachKindOfLayer) {
  const auto frequency = [](const json& keys, size_t which) {
    json config = usual_config("modernbert", "").value();
    config.update(keys);
    const ModelConfig c = read_model_config(config).value();
    return family_of(c).constants(c)[which].values[1];
  };
  const auto of = [](double theta) { return static_cast<float>(std::pow(theta, -2.0 / 64)); };
  EXPECT_FLOAT_EQ(frequency(json::object(), 0), of(160000));
  EXPECT_FLOAT_EQ(frequency(json::object(), 1), of(10000));
  EXPECT_FLOAT_EQ(frequency({{"local_rope_theta", nullptr}}, 1), of(160000));
  EXPECT_FLOAT_EQ(
      frequency({{"rope_parameters", {{"sliding_attention", {{"rope_theta", 500.0}}}}}}, 1),
      of(500));
}

// A layer of ALBERT is that of its group: 5 rounds over 2 groups are 3 and 2.
TEST(EncoderFamilies, AlbertSharesTheLayersOfItsGroups) {
  const ModelConfig c = read_model_config(usual_config("albert",
                                                       "hidden_size=16,num_attention_heads=2,"
                                                       "intermediate_size=24,num_hidden_layers=5,"
                                                       "num_hidden_groups=2")
                                              .value())
                            .value();
  EXPECT_EQ(c.layers, 5);
  int64_t layers = 0;
  for (const ParamSpec& p : family_of(c).params(c))
    layers += p.name.ends_with("full_layer_layer_norm.weight");
  EXPECT_EQ(layers, 2);
}

// Every encoder with each head and an adapter of all its layers builds a training program, in which each
// place that drops has a mask of its own.
TEST(EncoderFamilies, EveryPlaceDropsByItself) {
  for (const Family& f : families())
    for (const ModelType& t : f.model_types) {
      if (f.heads.back().head != Head::none || *t.usual == 0) continue;
      json config = usual_config(t.name, "").value();
      for (const char* key : f.dropouts) config[key] = 0.25;
      config["relative_attention"] = true;  // of DeBERTa
      config["pos_att_type"] = "c2p|p2c";
      config["max_position_embeddings"] = 64;
      ModelConfig c = read_model_config(config).value();
      c.layers = 2;
      const bool shares = t.name == "albert";  // one layer, whose adapters are used in each round
      for (const bool adapts : {false, true})
        for (const HeadOffer& offer : f.heads) {
          if (offer.head == Head::none) continue;
          SCOPED_TRACE(t.name + " " + name_of(offer.head));
          ASSERT_TRUE(set_head(c, offer.head, classifies(offer.head) ? 3 : 0).ok());
          auto adapter = std::make_shared<Adapter>();
          adapter->dropout = 0.5;
          adapter->pattern = Adapter::kAllLinear;
          c.adapter = adapts ? adapter : nullptr;
          Program p(op_table(), "train");
          Builder b(p);
          ModelGraph g(b, c, ModelGraph::Mode::train);
          g.ids = p.add_input("ids", {DType::i32, {8}});
          g.positions = p.add_input("positions", {DType::i32, {8}});
          g.cu_seqlens = p.add_input("cu_seqlens", {DType::i32, {3}});
          g.sample_ids = p.add_input("sample_ids", {DType::i64, {8}});
          g.rng = p.add_input("rng", {DType::i64, {2}});
          add_model_states(g, true);
          logits_of(b, model_head(g));
          std::multiset<std::string> keys;
          for (const Node& n : p.nodes)
            if (n.op->attr("key") != nullptr && n.attrs.real("dropout") + n.attrs.real("p") > 0)
              keys.insert(n.attrs.text("key"));
          EXPECT_GE(keys.size(), 2u);
          if (!(adapts && shares)) {
            EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size());
          }
        }
    }
}

// DistilBERT's classifier is two layers, which PEFT trains whole.
TEST(EncoderFamilies, AnAdapterHasBothLayersOfDistilBertsClassifier) {
  ModelConfig c = read_model_config(usual_config("distilbert", "").value()).value();
  ASSERT_TRUE(set_head(c, Head::sequence_classification, 2).ok());
  const Adapter adapter;
  EXPECT_TRUE(adapter.saves(c, "pre_classifier.weight"));
  EXPECT_TRUE(adapter.saves(c, "classifier.bias"));
  EXPECT_FALSE(adapter.saves(c, "distilbert.transformer.layer.0.ffn.lin1.weight"));
}

}  // namespace
}  // namespace hone

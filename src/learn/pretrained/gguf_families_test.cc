// Each type of models that GGUF files keep: written and read back, it is the same model.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/core/philox.h"
#include "base/core/text.h"
#include "base/store/temporary_folder.h"
#include "engine/backends/reference/reference.h"
#include "learn/checkpoint/gguf/gguf_parts.h"
#include "learn/checkpoint/gguf/gguf_writer.h"
#include "learn/models/gguf_layout.h"
#include "learn/pretrained/errors.h"
#include "learn/pretrained/pretrained.h"
#include "learn/pretrained/random_model_test.h"
#include "learn/pretrained/weights.h"

namespace hone {
namespace {

struct Case {
  const char *type, *overrides;
};

constexpr const char* kSizes =
    "hidden_size=32,num_hidden_layers=2,num_attention_heads=4,vocab_size=32,";
constexpr const char* kGated = "max_position_embeddings=64,num_key_value_heads=2,";

std::string with_sizes(const Case& one) {
  const std::string type = one.type;
  if (type == "bloom") return "hidden_size=32,n_layer=2,n_head=4,vocab_size=32";
  std::string sizes = kSizes;
  if (type != "falcon" && type != "gpt_neox") sizes += kGated;
  if (type != "falcon" && type != "gpt_neox" && type != "qwen3_5_moe_text")
    sizes += "intermediate_size=48,";
  return sizes + one.overrides;
}

nlohmann::json json_of(const Case& one) {
  nlohmann::json json = usual_config(one.type, "").value();
  for (const std::string& part : split(with_sizes(one), ',')) {
    const size_t equals = part.find('=');
    if (equals != part.npos)
      json[part.substr(0, equals)] = nlohmann::json::parse(part.substr(equals + 1));
  }
  if (one.type == std::string("lfm2")) json["layer_types"] = {"conv", "full_attention", "conv"};
  return json;
}

ModelConfig config_of(const Case& one) {
  Result<ModelConfig> config = read_model_config(json_of(one));
  EXPECT_TRUE(config.ok()) << config.error().text();
  return std::move(*config);
}

const Case kCases[] = {
    {"mistral", "head_dim=8,sliding_window=null"},
    {"mistral", "head_dim=8,sliding_window=64"},  // as good as none
    {"mixtral", "num_local_experts=3"},
    {"qwen2_moe",
     "num_experts=4,num_experts_per_tok=2,moe_intermediate_size=16,"
     "shared_expert_intermediate_size=24"},
    {"qwen3_moe",
     "num_experts=4,num_experts_per_tok=2,moe_intermediate_size=16,"
     "norm_topk_prob=true,head_dim=16"},
    {"olmoe", "num_experts=4,num_experts_per_tok=2,num_key_value_heads=4"},
    {"gpt_oss", "num_local_experts=4,num_experts_per_tok=2,head_dim=16,sliding_window=4"},
    {"olmo3", "num_hidden_layers=5,sliding_window=4"},
    {"glm", "head_dim=8"},
    {"apertus", ""},
    {"apertus", "attention_bias=true"},
    {"hunyuan_v1_dense", "head_dim=16"},
    {"lfm2", "num_hidden_layers=3,conv_L_cache=3"},
    {"qwen3_5_text",
     "num_hidden_layers=4,head_dim=16,linear_key_head_dim=8,linear_value_head_dim=8,"
     "linear_num_key_heads=2,linear_num_value_heads=6"},
    {"qwen3_5_moe_text",
     "num_experts=4,num_experts_per_tok=2,moe_intermediate_size=16,num_hidden_layers=4,"
     "shared_expert_intermediate_size=24,head_dim=16,linear_key_head_dim=8,"
     "linear_value_head_dim=8,linear_num_key_heads=2,linear_num_value_heads=4"},
    {"qwen3_next",
     "num_experts=4,num_experts_per_tok=2,moe_intermediate_size=16,num_hidden_layers=4,"
     "shared_expert_intermediate_size=24,head_dim=16,linear_key_head_dim=8,"
     "linear_value_head_dim=8,linear_num_key_heads=2,linear_num_value_heads=4"},
    {"gemma4_text", "head_dim=8,global_head_dim=16,sliding_window=4,hidden_size_per_layer_input=0"},
    {"gemma4_text",
     "num_hidden_layers=7,head_dim=8,global_head_dim=16,sliding_window=4,final_logit_softcapping=5."
     "0,"
     "hidden_size_per_layer_input=8,vocab_size_per_layer_input=32,num_kv_shared_layers=1,"
     "use_double_wide_mlp=true,attention_k_eq_v=true,num_global_key_value_heads=1"},
    {"gemma4_text",
     "num_hidden_layers=3,head_dim=8,global_head_dim=16,sliding_window=4,enable_moe_block=true,"
     "hidden_size_per_layer_input=0,num_experts=4,top_k_experts=2,moe_intermediate_size=16,"
     "tie_word_embeddings=false"},
    {"gpt_neox", "intermediate_size=48,max_position_embeddings=64"},
    {"gpt_neox", "intermediate_size=48,use_parallel_residual=false"},
    {"bloom", ""},
    {"falcon", ""},
    {"falcon", "multi_query=false"},
    {"falcon", "new_decoder_architecture=true,num_kv_heads=2"},
    {"falcon", "new_decoder_architecture=true,num_kv_heads=2,num_ln_in_parallel_attn=1"},
};

TEST(GgufFamilies, WrittenAndReadBackEachIsTheSameModel) {
  const TemporaryFolder folder;
  int number = 0;
  for (const Case& one : kCases) {
    SCOPED_TRACE(fmt::format("{} {}", one.type, one.overrides));
    const Pretrained model = random_model(config_of(one));
    const std::string path = fmt::format("{}/{}.gguf", folder.path, number++);
    const Status saved = save_gguf(path, *model.weights, model, "f32");
    ASSERT_TRUE(saved.ok()) << saved.error().text();
    const Result<Pretrained> back = open_pretrained(path, {.need_tokenizer = false});
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(back->config.config["model_type"], one.type);
    const std::vector<float> read = logits_of_texts(*back), want = logits_of_texts(model);
    // Files with 1 + w or -exp(w) round w.
    const float bound = one.type == std::string_view("qwen3_5_text") ||
                                one.type == std::string_view("qwen3_5_moe_text") ||
                                one.type == std::string_view("qwen3_next")
                            ? 1e-4f
                            : 0;
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(read[i], want[i], bound) << i;
  }
}

// Encoders without a head.
constexpr Case kEncoderCases[] = {
    {"bert", "type_vocab_size=3"},
    {"distilbert", "dim=32,n_layers=2,n_heads=4,hidden_dim=48"},
    {"roberta", "pad_token_id=1"},
    {"xlm-roberta", "pad_token_id=3"},
    {"camembert", "type_vocab_size=1"},
    {"nomic_bert", ""},
    {"modernbert", "num_hidden_layers=4,local_attention=8,pad_token_id=0,global_rope_theta=5000.0"},
    {"modernbert", "hidden_activation=\"silu\",pad_token_id=0,local_rope_theta=77.0"},
    {"eurobert", "num_key_value_heads=2,pad_token_id=1"},
};

Pretrained random_encoder(const Case& one) {
  nlohmann::json json = usual_config(one.type, "").value();
  const std::string sizes =
      std::string(kSizes) + "intermediate_size=48,max_position_embeddings=64,";
  for (const std::string& part : split(sizes + one.overrides, ',')) {
    const size_t equals = part.find('=');
    if (equals != part.npos)
      json[part.substr(0, equals)] = nlohmann::json::parse(part.substr(equals + 1));
  }
  ModelConfig config = read_model_config(json).value();
  EXPECT_TRUE(set_head(config, Head::none).ok());
  return random_model(config);
}

std::vector<float> values_of(const WeightSource& weights, const std::string& name, size_t count) {
  std::vector<float> values(count);
  EXPECT_TRUE(weights.read(name, DType::f32, std::as_writable_bytes(std::span(values))).ok());
  return values;
}

void expect_equal_weights(const Pretrained& model, const Pretrained& back) {
  for (const ParamSpec& spec : family_of(back.config).params(back.config)) {
    const TensorInfo* info = back.weights->find(spec.name);
    ASSERT_NE(info, nullptr) << spec.name;
    ASSERT_EQ(info->type.shape, spec.shape) << spec.name;
    const auto count = static_cast<size_t>(info->type.count());
    EXPECT_EQ(values_of(*back.weights, spec.name, count),
              values_of(*model.weights, spec.name, count))
        << spec.name;
  }
}

TEST(GgufFamilies, EncodersAreTheSameModelsWithoutTheirPoolers) {
  const TemporaryFolder folder;
  int number = 0;
  for (const Case& one : kEncoderCases) {
    SCOPED_TRACE(fmt::format("{} {}", one.type, one.overrides));
    const Pretrained model = random_encoder(one);
    const std::string path = fmt::format("{}/{}.gguf", folder.path, number++);
    const Status saved = save_gguf(path, *model.weights, model, "f32");
    ASSERT_TRUE(saved.ok()) << saved.error().text();
    const Result<Pretrained> back = open_pretrained(path, {.need_tokenizer = false});
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(back->config.config["model_type"], one.type);
    EXPECT_EQ(back->config.head, Head::none);
    EXPECT_EQ(back->config.max_positions, model.config.max_positions);
    EXPECT_EQ(family_of(model.config).constants(model.config).size(),
              family_of(back->config).constants(back->config).size());
    for (const ConstantTable& table : family_of(model.config).constants(model.config)) {
      for (const ConstantTable& read : family_of(back->config).constants(back->config)) {
        if (read.name == table.name) {
          EXPECT_EQ(read.values, table.values) << table.name;
        }
      }
    }
    const GgufLayout& layout = *gguf_layout_of(model.config);
    for (const ParamSpec& spec : family_of(model.config).params(model.config)) {
      const TensorInfo* info = back->weights->find(spec.name);
      ASSERT_EQ(info == nullptr, spec.of_head) << spec.name;
      if (spec.of_head) continue;
      ASSERT_EQ(info->type.shape, spec.shape) << spec.name;
      const auto count = static_cast<size_t>(info->type.count());
      std::vector<float> want = values_of(*model.weights, spec.name, count);
      if (spec.name == layout.after_padding)  // rows that no token reads
        std::fill_n(want.begin(), (model.config.padding_token + 1) * 32, 0.0f);
      EXPECT_EQ(values_of(*back->weights, spec.name, count), want) << spec.name;
    }
  }
}

// Classifiers of sequences: the same weights, but of the rows of positions that no token reads, and labels.
TEST(GgufFamilies, ClassifiersAreTheSameModels) {
  const Case cases[] = {{"bert", "problem_type=\"regression\""},
                        {"roberta", "pad_token_id=1"},
                        {"xlm-roberta", "pad_token_id=3"},
                        {"camembert", "type_vocab_size=1"},
                        {"modernbert", "pad_token_id=0,classifier_pooling=\"mean\""}};
  const TemporaryFolder folder;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.type);
    Pretrained model = random_encoder(one);
    ASSERT_TRUE(set_head(model.config, Head::sequence_classification,
                         std::vector<std::string>{"no", "maybe", "yes"})
                    .ok());
    model = random_model(model.config);
    const nlohmann::json activation = {{"activation_fn", "torch.nn.modules.linear.Identity"}};
    model.config.config["sentence_transformers"] = activation;
    const std::string path = fmt::format("{}/{}.gguf", folder.path, one.type);
    const Status saved = save_gguf(path, *model.weights, model, "f32");
    ASSERT_TRUE(saved.ok()) << saved.error().text();
    const GgufFile file = open_gguf(path).value().content;
    const std::string architecture = *file.get<std::string>("general.architecture");
    EXPECT_EQ(*file.get<int64_t>(architecture + ".pooling_type"), 4);
    EXPECT_TRUE(file.has_tensor("cls.weight") && file.has_tensor("cls.output.bias"));
    const Result<Pretrained> back = open_pretrained(path, {.need_tokenizer = false});
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(back->config.config["model_type"], one.type);
    EXPECT_EQ(back->config.head, Head::sequence_classification);
    EXPECT_EQ(back->config.config["id2label"], model.config.config["id2label"]);
    EXPECT_EQ(back->config.config["label2id"], model.config.config["label2id"]);
    EXPECT_EQ(back->config.config["sentence_transformers"], activation);
    for (const char* key : {"problem_type", "classifier_pooling"})
      EXPECT_EQ(back->config.text(key, ""), model.config.text(key, "")) << key;
    const GgufLayout& layout = *gguf_layout_of(model.config);
    for (const ParamSpec& spec : family_of(back->config).params(back->config)) {
      const TensorInfo* info = find_weight(*back->weights, back->config, spec);
      ASSERT_NE(info, nullptr) << spec.name;
      ASSERT_EQ(info->type.shape, spec.shape) << spec.name;
      const auto count = static_cast<size_t>(info->type.count());
      std::vector<float> want = values_of(*model.weights, spec.name, count);
      if (info->name == layout.after_padding)
        std::fill_n(want.begin(), (model.config.padding_token + 1) * 32, 0.0f);
      EXPECT_EQ(values_of(*back->weights, info->name, count), want) << spec.name;
    }
  }
}

// Encoder-decoders: the names of two stacks, and the table of distances of the first layer of each, or of all.
TEST(GgufFamilies, T5IsTheSameModel) {
  const TemporaryFolder folder;
  const std::pair<const char*, const char*> cases[] = {
      {"t5", "gated-gelu"}, {"t5", "relu"}, {"mt5", "gated-gelu"}, {"umt5", "gated-gelu"}};
  for (const auto& [type, act] : cases) {
    SCOPED_TRACE(fmt::format("{} {}", type, act));
    const nlohmann::json json = {{"model_type", type},
                                 {"vocab_size", 32},
                                 {"d_model", 16},
                                 {"d_ff", 24},
                                 {"d_kv", 8},
                                 {"num_heads", 2},
                                 {"num_layers", 2},
                                 {"num_decoder_layers", 3},
                                 {"feed_forward_proj", act},
                                 {"tie_word_embeddings", false},
                                 {"decoder_start_token_id", 1},
                                 {"relative_attention_num_buckets", 8}};
    const Pretrained model = random_model(read_model_config(json).value());
    const std::string path = fmt::format("{}/{}_{}.gguf", folder.path, type, act);
    const Status saved = save_gguf(path, *model.weights, model, "f32");
    ASSERT_TRUE(saved.ok()) << saved.error().text();
    const Result<Pretrained> back = open_pretrained(path, {.need_tokenizer = false});
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(back->config.head, Head::seq2seq_lm);
    for (const char* key : {"model_type", "d_kv", "num_decoder_layers", "feed_forward_proj",
                            "decoder_start_token_id", "relative_attention_num_buckets"})
      EXPECT_EQ(back->config.config[key], json[key]) << key;
    EXPECT_FALSE(back->config.tied);
    EXPECT_EQ(back->config.config["scale_decoder_outputs"], false);
    expect_equal_weights(model, *back);
    EXPECT_EQ(family_of(back->config).params(back->config).size(), back->weights->tensors().size());
  }
  const std::pair<const char*, const char*> encoders[] = {
      {"t5", "T5EncoderModel"}, {"mt5", "MT5EncoderModel"}, {"umt5", "UMT5EncoderModel"}};
  for (const auto& [type, name] : encoders) {
    SCOPED_TRACE(type);
    const nlohmann::json json = {{"model_type", type},
                                 {"architectures", {name}},
                                 {"vocab_size", 32},
                                 {"d_model", 16},
                                 {"d_ff", 24},
                                 {"d_kv", 8},
                                 {"num_heads", 2},
                                 {"num_layers", 2},
                                 {"feed_forward_proj", "gated-gelu"},
                                 {"is_encoder_decoder", false}};
    const Pretrained model = random_model(read_model_config(json).value());
    const std::string path = fmt::format("{}/{}_encoder.gguf", folder.path, type);
    const Status saved = save_gguf(path, *model.weights, model, "f32");
    ASSERT_TRUE(saved.ok()) << saved.error().text();
    const Result<Pretrained> back = open_pretrained(path, {.need_tokenizer = false});
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(back->config.head, Head::none);
    for (const char* key : {"model_type", "architectures", "feed_forward_proj"})
      EXPECT_EQ(back->config.config[key], json[key]) << key;
    EXPECT_EQ(family_of(back->config).params(back->config).size(), back->weights->tensors().size());
    expect_equal_weights(model, *back);
  }
  nlohmann::json tied = {{"model_type", "t5"}, {"vocab_size", 32}, {"d_model", 16},  {"d_ff", 24},
                         {"d_kv", 8},          {"num_heads", 2},   {"num_layers", 2}};
  const Pretrained model = random_model(read_model_config(tied).value());
  const Status saved = save_gguf(folder.path + "/m.gguf", *model.weights, model, "f32");
  ASSERT_FALSE(saved.ok());
  EXPECT_NE(saved.error().what().find("its head is scaled"), std::string::npos);
}

TEST(GgufFamilies, EncodersThatLlamaCppRunsOtherwiseAreRefused) {
  const std::pair<Case, const char*> refused[] = {
      {{"bert", "hidden_act=\"relu\""}, "its activation is relu"},
      {{"modernbert", "norm_bias=true,pad_token_id=0"}, "norm_bias is true"},
      {{"modernbert", "hidden_activation=\"relu\",pad_token_id=0"}, "its activation is relu"},
      {{"modernbert", "layer_types=[],pad_token_id=0,global_attn_every_n_layers=1"}, ""},
      {{"eurobert", "mlp_bias=true,pad_token_id=1,num_key_value_heads=2"}, "mlp_bias is true"},
      {{"eurobert", "head_dim=16,pad_token_id=1,num_key_value_heads=2"}, "not the hidden size"},
  };
  const TemporaryFolder folder;
  for (const auto& [one, why] : refused) {
    const Pretrained model = random_encoder(one);
    const Status saved = save_gguf(folder.path + "/m.gguf", *model.weights, model, "f32");
    ASSERT_EQ(saved.ok(), *why == 0) << one.type << " " << one.overrides;
    if (saved.ok()) continue;
    EXPECT_STREQ(saved.error().code(), "H2209") << saved.error().text();
    EXPECT_NE(saved.error().what().find(why), std::string::npos) << saved.error().text();
  }
  const std::pair<Case, const char*> classifiers[] = {
      {{"distilbert", "dim=32,n_layers=2,n_heads=4,hidden_dim=48"}, "its classifier has relu"},
      {{"modernbert", "pad_token_id=0"}, "its classifier_pooling is not mean"},
      {{"eurobert", "num_key_value_heads=2,pad_token_id=1"}, "EuroBertForSequenceClassification"}};
  for (const auto& [one, why] : classifiers) {
    Pretrained model = random_encoder(one);
    ASSERT_TRUE(set_head(model.config, Head::sequence_classification, 2).ok());
    model = random_model(model.config);
    const Status saved = save_gguf(folder.path + "/m.gguf", *model.weights, model, "f32");
    ASSERT_FALSE(saved.ok()) << one.type;
    EXPECT_NE(saved.error().what().find(why), std::string::npos) << saved.error().text();
  }
  Pretrained model = random_encoder({"bert", ""});
  ASSERT_TRUE(set_head(model.config, Head::masked_lm).ok());
  const Status saved = save_gguf(folder.path + "/m.gguf", *model.weights, model, "f32");
  EXPECT_NE(saved.error().what().find("BertForMaskedLM"), std::string::npos);
}

// Newer files of llama.cpp's converter keep the axis of size 1.
TEST(GgufFamilies, AGateOfASharedExpertMayKeepItsAxis) {
  const Pretrained model =
      random_model(config_of({"qwen2_moe",
                              "num_experts=4,num_experts_per_tok=2,moe_intermediate_size=16,"
                              "shared_expert_intermediate_size=24"}));
  const TemporaryFolder folder;
  const std::string path = folder.path + "/m.gguf", other = folder.path + "/other.gguf";
  ASSERT_TRUE(save_gguf(path, *model.weights, model, "f32").ok());
  const OpenGguf written = open_gguf(path).value();
  const GgufMetadata metadata(written.content.metadata.begin(), written.content.metadata.end());
  std::vector<GgufOutput> outputs;
  int64_t gates = 0;
  for (const GgufTensor& t : written.content.tensors) {
    outputs.push_back({t.name, t.shape, t.format});
    if (!t.name.ends_with("ffn_gate_inp_shexp.weight")) continue;
    outputs.back().shape.insert(outputs.back().shape.begin(), 1);
    ++gates;
  }
  EXPECT_EQ(gates, 2);
  const ReadFloats read = [&](size_t i, std::span<float> out) {
    return written.file->read_at(written.content.tensors[i].offset, std::as_writable_bytes(out));
  };
  ASSERT_TRUE(save_gguf(other, metadata, outputs, read).ok());
  const Result<Pretrained> back = open_pretrained(other, {.need_tokenizer = false});
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(logits_of_texts(*back), logits_of_texts(model));
}

TEST(GgufFamilies, TheRotationOfHunyuansAlphaIsOneOfAnotherTheta) {
  nlohmann::json json = json_of({"hunyuan_v1_dense", "head_dim=16"});
  json["rope_parameters"] = {{"rope_type", "dynamic"}, {"alpha", 50.0}, {"rope_theta", 10000.0}};
  const Pretrained model = random_model(read_model_config(json).value());
  const TemporaryFolder folder;
  const std::string path = folder.path + "/m.gguf";
  ASSERT_TRUE(save_gguf(path, *model.weights, model, "f32").ok());
  const Pretrained back = open_pretrained(path, {.need_tokenizer = false}).value();
  EXPECT_NEAR(back.config.real("rope_theta", 0), 10000 * std::pow(50.0, 16.0 / 14), 1);
  const std::vector<float> one = logits_of_texts(back), two = logits_of_texts(model);
  for (size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(one[i], two[i], 1e-4) << i;
}

TEST(GgufFamilies, ModelsThatLlamaCppRunsOtherwiseAreRefused) {
  const std::pair<Case, const char*> refused[] = {
      {{"qwen3_moe", "num_experts=4,num_experts_per_tok=2"}, "norm_topk_prob is false"},
      {{"qwen3_moe",
        "num_experts=4,num_experts_per_tok=2,norm_topk_prob=true,"
        "decoder_sparse_step=2"},
       "layer 0 has no experts"},
      {{"qwen2_moe", "num_experts=4,num_experts_per_tok=2,norm_topk_prob=true"},
       "norm_topk_prob is true"},
      {{"olmoe", "num_experts=4,num_experts_per_tok=2"}, "fewer heads of keys"},
      {{"gpt_oss", "num_local_experts=4,num_experts_per_tok=2,swiglu_limit=1.0"}, "swiglu_limit"},
      {{"lfm2", "num_hidden_layers=3,conv_bias=true"}, "filters have biases"},
      {{"mixtral", "num_local_experts=3,sliding_window=8"}, "a window of 8 tokens"},
      {{"mistral", "sliding_window=8"}, "a window of 8 tokens"},
      {{"ministral3", "sliding_window=8"}, "a window of 8 tokens"},
      {{"phi3", "sliding_window=8"}, "a window of 8 tokens"},
      {{"starcoder2", "sliding_window=8"}, "a window of 8 tokens"},
      {{"qwen2", "use_sliding_window=true,max_window_layers=0,sliding_window=8"}, "a window"},
      {{"qwen3", "use_sliding_window=true,max_window_layers=0,sliding_window=8"}, "a window"},
      {{"glm", "head_dim=16"}, "not the hidden size"},
      {{"apertus", "tie_word_embeddings=true"}, "tied"},
      {{"qwen3_next", "decoder_sparse_step=2"}, "layer 0 has no experts"},
      {{"qwen3_next", "norm_topk_prob=false"}, "norm_topk_prob is false"},
      {{"falcon", "alibi=true"}, "alibi"},
      {{"falcon", "bias=true"}, "biases"},
      {{"falcon", "parallel_attn=false"}, "after attention"},
      {{"gpt_neox", "attention_bias=false"}, "biases"},
  };
  const TemporaryFolder folder;
  for (const auto& [one, why] : refused) {
    const Pretrained model = random_model(config_of(one));
    const Status saved = save_gguf(folder.path + "/m.gguf", *model.weights, model, "f32");
    ASSERT_FALSE(saved.ok()) << why;
    EXPECT_STREQ(saved.error().code(), "H2209") << saved.error().text();
    EXPECT_NE(saved.error().what().find(why), std::string::npos) << saved.error().text();
  }
}

}  // namespace
}  // namespace hone

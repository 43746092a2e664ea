#include "learn/models/experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learn/models/adapter_config.h"
#include "learn/models/family.h"

namespace hone {
namespace {

using testing::HasSubstr;

nlohmann::json small_config(const std::string& type, const std::string& overrides = "") {
  return usual_config(type,
                      "hidden_size=16,num_hidden_layers=2,num_attention_heads=2,"
                      "num_key_value_heads=2,vocab_size=32" +
                          (overrides.empty() ? "" : "," + overrides))
      .value();
}

std::string refusal_of(const nlohmann::json& config) {
  const Result<ModelConfig> c = read_model_config(config);
  return c.ok() ? "" : c.error().text();
}

std::vector<std::string> names_with(const ModelConfig& c, const std::string& part) {
  std::vector<std::string> names;
  for (const ParamSpec& p : family_of(c).params(c))
    if (p.name.find(part) != std::string::npos) names.push_back(p.name);
  return names;
}

TEST(Experts, TheirNumberHasTwoNames) {
  nlohmann::json config = small_config("qwen3_moe", "num_experts=6,num_experts_per_tok=2");
  config["num_local_experts"] = config["num_experts"];
  config.erase("num_experts");
  const ModelConfig c = read_model_config(config).value();
  EXPECT_EQ(c.config["num_experts"], 6);
  for (const ParamSpec& p : family_of(c).params(c))
    if (p.shape.size() == 3) {
      EXPECT_EQ(p.shape[0], 6) << p.name;
    }
}

TEST(Experts, ConfigsThatAskForMoreAreRefused) {
  EXPECT_EQ(refusal_of(small_config("mixtral")), "");
  EXPECT_THAT(refusal_of(small_config("mixtral", "router_jitter_noise=0.1")),
              HasSubstr("'router_jitter_noise' is 0.1"));
  EXPECT_THAT(refusal_of(small_config("mixtral", "num_experts_per_tok=9")),
              HasSubstr("'num_experts_per_tok'"));
  EXPECT_THAT(refusal_of(small_config("olmoe", "clip_qkv=8.0")), HasSubstr("'clip_qkv' is 8.0"));
}

TEST(Experts, LayersOfQwenWithoutThemHaveAUsualMlp) {
  nlohmann::json config = small_config("qwen3_moe", "decoder_sparse_step=2");
  ModelConfig c = read_model_config(config).value();
  EXPECT_EQ(names_with(c, "layers.0.mlp.").size(), 3u);
  EXPECT_THAT(names_with(c, "layers.1.mlp."),
              testing::Contains("model.layers.1.mlp.experts.*.up_proj.weight"));
  config = small_config("qwen2_moe");
  config["mlp_only_layers"] = {1};
  c = read_model_config(config).value();
  EXPECT_THAT(names_with(c, "layers.0.mlp."),
              testing::Contains("model.layers.0.mlp.shared_expert_gate.weight"));
  EXPECT_EQ(names_with(c, "layers.1.mlp.").size(), 3u);
}

TEST(Experts, AnAdapterOfThemAloneIsRefused) {
  const auto refused = [](const std::string& type, const Adapter& a) {
    ModelConfig c = read_model_config(small_config(type)).value();
    c.adapter = std::make_shared<Adapter>(a);
    const Status s = check_adapter(c);
    return s.ok() ? std::string() : s.error().text();
  };
  Adapter a;
  a.targets = {"q_proj", "up_proj"};
  EXPECT_THAT(refused("qwen3_moe", a), HasSubstr("is a matrix of an expert"));
  EXPECT_EQ(refused("qwen2_moe", a), "");  // the shared expert has such a layer
  a.targets = {"q_proj"};
  a.saved = {"experts"};
  EXPECT_THAT(refused("qwen3_moe", a), HasSubstr("does not train whole"));
  a.saved.clear();
  a.targets.clear();
  a.parameters = {"mlp.experts.gate_up_proj", "experts.down_proj"};
  EXPECT_EQ(refused("mixtral", a), "");
  EXPECT_EQ(refused("gpt_oss", a), "");
  EXPECT_THAT(refused("llama", a), HasSubstr("no matrices of experts are named"));
  a.dropout = 0.1;
  EXPECT_THAT(refused("mixtral", a), HasSubstr("dropout 0.1"));
  a.dropout = 0;
  a.dora = true;
  EXPECT_THAT(refused("mixtral", a), HasSubstr("DoRA"));
  a.dora = false;
  a.targets = {Adapter::kNoLayers};
  EXPECT_EQ(refused("mixtral", a), "");
  a.parameters.clear();
  EXPECT_THAT(refused("mixtral", a), HasSubstr("no layer of the model is named none"));
  a.targets.clear();
  a.pattern = Adapter::kAllLinear;
  EXPECT_EQ(refused("qwen3_moe", a), "");
  EXPECT_EQ(refused("gpt_oss", a), "");
}

}  // namespace
}  // namespace hone

// The keys of config.json that decoders accept, the defaults of those that are missing, and the
// errors for the others.
#include "learn/models/config_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learn/models/adapter.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

using nlohmann::json;

json usual_of(const std::string& type) { return usual_config(type, "").value(); }

// Every type on the shelf reads the config of its own defaults.
TEST(ConfigKeys, EachTypeReadsItsUsualConfig) {
  for (const Family& f : families())
    for (const ModelType& t : f.model_types) {
      if (*t.usual == 0) continue;
      const Result<ModelConfig> c = read_model_config(usual_of(t.name));
      ASSERT_TRUE(c.ok()) << t.name << ": " << c.error().text();
      EXPECT_EQ(c->family, f.name);
      EXPECT_EQ(architecture_of(*c).starts_with(t.class_prefix), true) << t.name;
    }
}

// An adapter without targets finds layers by the names of the type.
TEST(ConfigKeys, EachTypeHasLayersForAnAdapter) {
  for (const Family& f : families())
    for (const ModelType& t : f.model_types) {
      if (*t.usual == 0 || t.adapted.empty()) continue;
      ModelConfig c = read_model_config(usual_of(t.name)).value();
      c.adapter = std::make_shared<const Adapter>();
      const std::vector<ParamSpec> params = f.params(c);
      for (const std::string& name : t.adapted)
        EXPECT_TRUE(std::any_of(
            params.begin(), params.end(),
            [&](const ParamSpec& p) { return p.name.ends_with("." + name + ".lora_A.weight"); }))
            << t.name << ": " << name;
    }
}

TEST(ConfigKeys, AnUnknownKeyIsRefusedByName) {
  json config = usual_of("gemma3_text");
  config["use_mla"] = true;
  const Result<ModelConfig> c = read_model_config(config);
  ASSERT_FALSE(c.ok());
  EXPECT_TRUE(c.error().is(err::kConfigNotOffered));
  EXPECT_THAT(c.error().text(), testing::HasSubstr("'use_mla' is not a key of the type gemma3"));
  config["use_mla"] = nullptr;  // turned off
  EXPECT_TRUE(read_model_config(config).ok());
}

// The hub's Gemma 3 says what differs from Transformers' defaults, in the keys of version 4.
TEST(ConfigKeys, MissingKeysHaveTransformersDefaults) {
  const Result<ModelConfig> c = read_model_config(json::parse(
      R"({"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
          "num_hidden_layers": 34, "sliding_window": 1024, "rope_scaling": {"factor": 8.0,
          "rope_type": "linear"}})"));
  ASSERT_TRUE(c.ok()) << c.error().text();
  EXPECT_EQ(c->vocab, 262208);
  EXPECT_EQ(c->heads, 8);
  EXPECT_EQ(c->kv_heads, 4);
  EXPECT_EQ(c->head_dim, 256);
  EXPECT_TRUE(c->tied);
  EXPECT_EQ(c->window, 1024);
  const std::vector<ConstantTable> tables = family_of(*c).constants(*c);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].name, "rope.inv_freq");
  EXPECT_FLOAT_EQ(tables[0].values[0], 1.0f / 8);
  EXPECT_EQ(tables[1].name, "rope.local_inv_freq");
  EXPECT_FLOAT_EQ(tables[1].values[0], 1.0f);
  EXPECT_NEAR(tables[1].values.back(), std::pow(10000.0, -254.0 / 256), 1e-8);
}

TEST(ConfigKeys, LongropeNeedsAFactorForEachPair) {
  json config = usual_of("phi3");
  config["rope_parameters"] = {
      {"rope_type", "longrope"}, {"short_factor", {1.0, 1.0}}, {"long_factor", {1.0, 1.0}}};
  const Result<ModelConfig> c = read_model_config(config);
  ASSERT_FALSE(c.ok());
  EXPECT_THAT(c.error().text(), testing::HasSubstr("needs 48 positive numbers 'short_factor'"));
}

TEST(ConfigKeys, TypesOfLayersThatHoneLacksAreRefused) {
  json config = usual_of("olmo3");
  config["layer_types"] = {"sliding_attention", "chunked_attention"};
  const Result<ModelConfig> c = read_model_config(config);
  ASSERT_FALSE(c.ok());
  EXPECT_THAT(c.error().text(), testing::HasSubstr("chunked_attention"));
}

}  // namespace
}  // namespace hone

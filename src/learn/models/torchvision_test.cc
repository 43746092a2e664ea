// Configs of torchvision's models by the shapes of their weights, which are those of torchvision 0.29.
#include "learn/models/torchvision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "learn/models/errors.h"
#include "learn/models/family.h"

namespace hone {
namespace {

using nlohmann::json;
using Weights = std::map<std::string, Shape>;

std::optional<Result<json>> config_of(const Weights& weights) {
  return config_of_torchvision([&](const std::string& name) {
    const auto found = weights.find(name);
    return found == weights.end() ? nullptr : &found->second;
  });
}

// The weights that the family lists for this config in torchvision's names.
Weights weights_of(const json& config, const std::string& layout) {
  ModelConfig c = read_model_config(config).value();
  c.layout = layout;
  EXPECT_TRUE(set_head(c, Head::image_classification, 1000).ok());
  Weights weights;
  for (const ParamSpec& p : family_of(c).params(c)) weights[p.name] = p.shape;
  return weights;
}

// A config that is derived from the weights of a config says the same model.
void expect_same_model(const json& config, const std::string& layout) {
  const Weights weights = weights_of(config, layout);
  const auto has = [&](const std::string& name) { return weights.contains(name); };
  EXPECT_EQ(family_of(read_model_config(config).value()).layout(has), layout);
  const auto derived = config_of(weights);
  ASSERT_TRUE(derived && derived->ok()) << config.dump();
  EXPECT_EQ(weights_of(**derived, layout), weights) << (*derived)->dump();
  for (const auto& [key, value] : config.items()) EXPECT_EQ((*derived)->value(key, json()), value);
}

const json kVitB16{{"model_type", "vit"},       {"hidden_size", 768},
                   {"num_hidden_layers", 12},   {"num_attention_heads", 12},
                   {"intermediate_size", 3072}, {"image_size", 384},
                   {"patch_size", 16},          {"layer_norm_eps", 1e-6}};

TEST(Torchvision, ShapesSayTheConfig) {
  expect_same_model(kVitB16, kTorchvisionLayout);
  expect_same_model(kVitB16, kFirstTorchvisionLayout);
  expect_same_model({{"model_type", "convnext"},
                     {"hidden_sizes", {96, 192, 384, 768}},
                     {"depths", {3, 3, 27, 3}},
                     {"layer_norm_eps", 1e-6}},
                    kTorchvisionLayout);
  expect_same_model({{"model_type", "swin"},
                     {"embed_dim", 128},
                     {"depths", {2, 2, 18, 2}},
                     {"num_heads", {4, 8, 16, 32}},
                     {"window_size", 7}},
                    kTorchvisionLayout);
  for (const char* type : {"basic", "bottleneck"}) {
    const int64_t wide = std::string(type) == "basic" ? 1 : 4;
    expect_same_model({{"model_type", "resnet"},
                       {"layer_type", type},
                       {"hidden_sizes", {64 * wide, 128 * wide, 256 * wide, 512 * wide}},
                       {"depths", {3, 4, 6, 3}}},
                      "timm");
  }
}

TEST(Torchvision, VariantsAreRefused) {
  const auto refused = [](const Weights& weights, const char* why) {
    const auto derived = config_of(weights);
    ASSERT_TRUE(derived && !derived->ok()) << why;
    EXPECT_TRUE(derived->error().is(err::kConfigNotOffered));
    EXPECT_THAT(derived->error().text(), testing::HasSubstr(why));
  };
  Weights wide = weights_of({{"model_type", "resnet"}}, "timm");
  wide["layer3.0.conv2.weight"] = {512, 512, 3, 3};
  refused(wide, "wide ResNet");
  Weights swin = weights_of({{"model_type", "swin"}}, kTorchvisionLayout);
  swin["features.1.0.attn.logit_scale"] = {3, 1, 1};
  refused(swin, "Swin v2");
  Weights vit = weights_of(kVitB16, kTorchvisionLayout);
  vit["class_token"] = {1, 1, 192};
  refused(vit, "192 channels");
  EXPECT_FALSE(config_of({{"wte.weight", {8, 4}}}));
}

}  // namespace
}  // namespace hone

#include "learn/models/module_order.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include "base/core/json.h"
#include "learn/models/family.h"

namespace hone {
namespace {

const std::string kGoldenFolder = HONE_SOURCE_DIR "/tests/goldens/";

Json golden_json(const std::string& file) {
  std::ifstream in(kGoldenFolder + file);
  return Json::parse(in);
}

// Families whose experts are one weight each in Transformers and several in hone: their states are refused.
bool joins_experts(const std::vector<ParamSpec>& weights) {
  return std::any_of(weights.begin(), weights.end(),
                     [](const ParamSpec& w) { return w.name.find('*') != std::string::npos; });
}

// Both groups of Transformers' Trainer, for each golden model whose family says its order.
TEST(ModuleOrder, IsThatOfTheGroupsOfTransformers) {
  const Json golden = golden_json("module_order.json");
  const std::regex inner("\\.[1-9][0-9]*\\.");
  std::set<std::string> families, refused;
  for (const auto& [folder, groups] : golden.items()) {
    const auto config = read_model_config(golden_json(folder + "/config.json"));
    ASSERT_TRUE(config.ok()) << folder << config.error().text();
    const auto weights = weights_in_module_order(*config);
    if (!weights || joins_experts(*weights)) continue;
    const Family& family = family_of(*config);
    std::vector<const ParamSpec*> mine[2];
    for (const ParamSpec& w : *weights)
      if (!std::regex_search(w.name, inner)) mine[w.decay ? 0 : 1].push_back(&w);
    if (mine[0].size() != groups[0].size() || mine[1].size() != groups[1].size()) {
      refused.insert(folder);
      continue;
    }
    families.insert(family.name);
    for (size_t g = 0; g < 2; ++g) {
      std::vector<std::string> names;
      for (size_t i = 0; i < mine[g].size(); ++i) {
        const auto theirs = i < groups[g].size() ? groups[g][i].get<std::string>() : "";
        auto others = family.other_names(*config, *mine[g][i]);
        if (mine[g][i]->name == "embed_out.weight") others.emplace_back("lm_head.weight");
        const bool same = std::find(others.begin(), others.end(), theirs) != others.end();
        names.push_back(same ? theirs : mine[g][i]->name);
      }
      EXPECT_EQ(Json(names), groups[g]) << folder << " group " << g;
    }
  }
  EXPECT_GE(families.size(), 25u);
  // Another number of weights is refused: Transformers has a second bias there, or ties the head by the config.
  EXPECT_EQ(refused,
            (std::set<std::string>{"encoders/bert_untied_masked_lm", "models/t5_v11_tiny"}));
}

TEST(ModuleOrder, IsUnknownUnlessTheFamilySaysIt) {
  size_t unknown = 0;
  for (const Family& family : families()) unknown += !family.module_order;
  EXPECT_GT(unknown, 0u);
}

// A module's own weights, then its children's; an adapter's A before its B.
TEST(ModuleOrder, OfAnAdapterIsThatOfItsLayers) {
  ModelConfig config = read_model_config(golden_json("models/qwen2_tiny/config.json")).value();
  Adapter adapter;
  adapter.targets = {"v_proj", "q_proj"};
  config.adapter = std::make_shared<Adapter>(adapter);
  const auto weights = weights_in_module_order(config);
  ASSERT_TRUE(weights.has_value());
  std::vector<std::string> first;
  for (size_t i = 0; i < 4 && i < weights->size(); ++i) {
    const std::string& name = (*weights)[i].name;
    first.push_back(name.substr(name.find("layers.0.self_attn.")));
  }
  EXPECT_EQ(first, (std::vector<std::string>{"layers.0.self_attn.q_proj.lora_A.weight",
                                             "layers.0.self_attn.q_proj.lora_B.weight",
                                             "layers.0.self_attn.v_proj.lora_A.weight",
                                             "layers.0.self_attn.v_proj.lora_B.weight"}));
}

}  // namespace
}  // namespace hone

// The heads that families have, and their keys in config.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "learn/models/adapter.h"
#include "learn/models/errors.h"
#include "learn/models/family.h"
#include "learn/models/image_model.h"

namespace hone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const json kGpt2 = {
    {"model_type", "gpt2"}, {"vocab_size", 11}, {"n_embd", 4}, {"n_layer", 1}, {"n_head", 2}};

TEST(Heads, AnotherThanTheFamilyOffersIsRefused) {
  ModelConfig c = read_model_config(kGpt2).value();
  EXPECT_EQ(c.head, Head::causal_lm);
  const Status s = set_head(c, Head::masked_lm);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code(), std::string(err::kHeadNotOffered.id));
  EXPECT_THAT(s.error().text(), HasSubstr("heads of gpt2: causal_lm"));
  EXPECT_EQ(c.head, Head::causal_lm);
}

TEST(Heads, TheArchitectureFollowsTheHead) {
  json config = kGpt2;
  EXPECT_EQ(architecture_of(read_model_config(config).value()), "GPT2LMHeadModel");
  config["architectures"] = {"GPT2Model"};
  EXPECT_EQ(architecture_of(read_model_config(config).value()), "GPT2LMHeadModel");
  config["architectures"] = {"OwnForCausalLM"};
  EXPECT_EQ(architecture_of(read_model_config(config).value()), "OwnForCausalLM");
}

// A family of images names no vocabulary; what every model has is still asked for.
TEST(Config, AVocabularyIsAskedOfFamiliesThatReadText) {
  Family f;
  f.name = "images";
  ModelConfig c;
  c.hidden = c.layers = c.heads = c.kv_heads = c.head_dim = 1;
  EXPECT_THAT(check_common(c, f).error().text(),
              HasSubstr("H2302  config.json: the vocabulary is 0"));
  f.reads_text = false;
  EXPECT_THAT(check_common(c, f).error().text(), HasSubstr("the height of images is 0"));
  c.image_height = c.image_width = c.channels = 1;
  EXPECT_TRUE(check_common(c, f).ok());
  c.layers = kMostLayers + 1;
  EXPECT_THAT(check_common(c, f).error().text(), HasSubstr("the number of layers is 10001"));
}

TEST(Config, ANewModelIsTheUsualOneOfItsTypeWithOverrides) {
  const json c =
      usual_config("gpt2", "n_embd=24, resid_pdrop=0.2,scale_attn_weights=false").value();
  EXPECT_EQ(c["n_embd"], 24);
  EXPECT_EQ(c["resid_pdrop"], 0.2);
  EXPECT_EQ(c["scale_attn_weights"], false);
  EXPECT_EQ(c["n_layer"], 12);
  EXPECT_TRUE(read_model_config(c).ok());
  EXPECT_THAT(
      usual_config("gpt2", "n_emb=10").error().text(),
      HasSubstr("a config of the type gpt2 has no key 'n_emb'\n  do   did you mean 'n_embd'?"));
  EXPECT_THAT(usual_config("gpt2", "n_embd=wide").error().text(), HasSubstr("cannot be 'wide'"));
  EXPECT_THAT(usual_config("gpt3", "").error().text(), HasSubstr("did you mean 'gpt2'?"));
  for (const Family& f : families())
    for (const ModelType& t : f.model_types) {
      if (*t.usual == 0) continue;
      EXPECT_TRUE(read_model_config(usual_config(t.name, "").value()).ok()) << t.name;
    }
}

// An unknown type is answered with the nearest family, what differs, and the page about families.
TEST(Config, AnUnknownTypeIsAnsweredWithTheNearestFamily) {
  const auto answer = [](json config, const char* type) {
    config["model_type"] = type;
    return read_model_config(config).error().text();
  };
  json bert = usual_config("bert", "").value();
  bert["max_bins"] = 7;
  bert.erase("type_vocab_size");
  EXPECT_THAT(answer(bert, "ernie"),
              HasSubstr("its config.json is nearest to that of 'bert': 12 keys are the same, bert "
                        "has no 'max_bins', the config has no 'type_vocab_size'; docs/families.md "
                        "shows how to add a family as one file; model types that work: "));
  EXPECT_THAT(answer(usual_config("modernbert", "").value(), "moderner"),
              HasSubstr("nearest to that of 'modernbert'"));
  json llama = usual_config("llama", "").value();
  llama["rope_theta"] = 5e5;  // the spelling of Transformers 4
  llama.erase("rope_parameters");
  for (const char* key : {"a", "b", "c", "d", "e", "f", "g"}) llama[key] = 1;
  EXPECT_THAT(answer(llama, "yi"),
              HasSubstr(" has no 'a', 'b', 'c', 'd', 'e', 'f' and 1 more; docs"));
  // Nothing to compare: the names alone.
  EXPECT_THAT(answer(json::object(), "gpt3"),
              AllOf(HasSubstr("did you mean 'gpt2'? model types that work"),
                    testing::Not(HasSubstr("nearest to"))));
}

// Real configs of families that hone has, under another name.
TEST(Config, RealConfigsAreNearestToTheirOwnFamily) {
  const char* set = std::getenv("HONE_DATA");
  const std::string folder =
      (set ? std::string(set) : std::string(HONE_SOURCE_DIR) + "/../shared/data") + "/configs/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no configs in HONE_DATA " << folder;
  // Types may have the same keys.
  const std::vector<std::string> kLikeLlama{"llama", "ministral", "mistral", "olmo2", "qwen2"};
  for (const auto& [file, nearest] :
       std::map<std::string, std::vector<std::string>>{{"bert-base-uncased", {"bert"}},
                                                       {"roberta-large", {"bert", "roberta"}},
                                                       {"gpt2-xl", {"gpt2"}},
                                                       {"llama-3-8b", kLikeLlama},
                                                       {"mistral-7b-v0.1", kLikeLlama},
                                                       {"qwen2-7b", kLikeLlama}}) {
    json config = json::parse(std::ifstream(folder + file + ".json"));
    config["model_type"] = "unheard-of";
    const std::string text = read_model_config(config).error().text();
    EXPECT_TRUE(std::any_of(nearest.begin(), nearest.end(),
                            [&](const std::string& type) {
                              return text.find("nearest to that of '" + type + "'") !=
                                     std::string::npos;
                            }))
        << file << ": " << text;
  }
}

// A weight is what its first use says; a second use of another size is a mistake in the family.
TEST(Declare, WeightsComeInTheOrderOfFirstUse) {
  const ModelConfig c = read_model_config(kGpt2).value();
  std::vector<std::string> names;
  for (const ParamSpec& p : family_of(c).params(c)) names.push_back(p.name);
  EXPECT_THAT(names, testing::ElementsAre(
                         "transformer.wte.weight", "transformer.wpe.weight",
                         "transformer.h.0.ln_1.weight", "transformer.h.0.ln_1.bias",
                         "transformer.h.0.attn.c_attn.weight", "transformer.h.0.attn.c_attn.bias",
                         "transformer.h.0.attn.c_proj.weight", "transformer.h.0.attn.c_proj.bias",
                         "transformer.h.0.ln_2.weight", "transformer.h.0.ln_2.bias",
                         "transformer.h.0.mlp.c_fc.weight", "transformer.h.0.mlp.c_fc.bias",
                         "transformer.h.0.mlp.c_proj.weight", "transformer.h.0.mlp.c_proj.bias",
                         "transformer.ln_f.weight", "transformer.ln_f.bias"));
  Program p(op_table(), "p");
  Builder b(p);
  ModelGraph g(b, c, ModelGraph::Mode::eval);
  add_model_states(g, false);
  EXPECT_THROW(g.matrix("transformer.wte.weight", 11, 5), Bug);
}

// Beside an adapter batch norms read the running statistics, and leave them.
TEST(Declare, StatisticsMoveUnlessAnAdapterIsTrained) {
  ModelConfig c = read_model_config({{"model_type", "resnet"},
                                     {"embedding_size", 4},
                                     {"hidden_sizes", {4, 8}},
                                     {"depths", {1, 1}},
                                     {"layer_type", "basic"}})
                      .value();
  const auto moved = moved_statistics(c);
  // The stem has a norm, each block two, and the shortcut of the second one; each a mean and a variance.
  ASSERT_EQ(moved.size(), 2u * (1 + 2 * 2 + 1));
  EXPECT_EQ(moved[0].first, "resnet.embedder.embedder.normalization.running_mean");
  EXPECT_EQ(moved[0].second, Shape{4});
  c.adapter = std::make_shared<const Adapter>();
  EXPECT_TRUE(moved_statistics(c).empty());
}

}  // namespace
}  // namespace hone

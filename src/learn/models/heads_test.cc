// Which heads families offer, and what config.json says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learn/models/errors.h"
#include "learn/models/family.h"

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

}  // namespace
}  // namespace hone

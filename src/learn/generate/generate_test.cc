// Tokens of tiny models against Transformers (tests/goldens/models, made again by
// tools/golden_models.py), and batches against single prompts.
#include "learn/generate/generate.h"

#include <gtest/gtest.h>

#include <fstream>

#include "engine/backends/cpu/backend.h"

namespace hone {
namespace {

using nlohmann::json;

Pretrained open_golden(const std::string& name) {
  OpenOptions options;
  options.need_tokenizer = false;
  Result<Pretrained> model = open_pretrained(std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/" + name, options);
  EXPECT_TRUE(model.ok()) << model.error().text();
  return std::move(*model);
}

json facts_of(const std::string& name) { return json::parse(std::ifstream(std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/" + name + "/golden.json")); }

std::unique_ptr<Generator> make_generator(const Pretrained& model, const CacheLimits& limits, const Backend& backend) {
  Result<std::unique_ptr<Generator>> g = Generator::make(model, limits, 1, backend);
  EXPECT_TRUE(g.ok()) << g.error().text();
  return std::move(*g);
}

std::vector<Generated> run(Generator& g, std::span<const Prompt> prompts, const GenerationConfig& config) {
  Result<std::vector<Generated>> r = g.run(prompts, config);
  EXPECT_TRUE(r.ok()) << r.error().text();
  return std::move(*r);
}

const std::vector<std::string> kModels = {"gpt2_tiny", "llama_tied_tiny", "llama_untied_tiny", "qwen2_tiny", "mistral_tiny", "llama3_rope_tiny"};

class GenerateParity : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);
};

// Pages of 4 tokens, so that prompts and beams cross, share and copy them.
TEST_P(GenerateParity, TokensEqualTransformers) {
  Pretrained model = open_golden(GetParam());
  auto generator = make_generator(model, {.rows = 4, .tokens = 40, .longest_prompt = 11, .page = 4}, *backend_);
  const json facts = facts_of(GetParam());
  ASSERT_GE(facts["generate"].size(), 20u);
  for (const json& c : facts["generate"]) {
    GenerationConfig config;
    ASSERT_TRUE(apply_generation_json(config, c["settings"], "golden.json").ok());
    Prompt prompt{c["prompt"].get<std::vector<int32_t>>()};
    std::vector<Generated> got = run(*generator, std::span(&prompt, 1), config);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].tokens, c["tokens"].get<std::vector<int32_t>>()) << c["name"] << " of " << c["prompt"].dump();
    if (!c.contains("score")) continue;
    EXPECT_NEAR(got[0].score, c["score"].get<double>(), 1e-4) << c["name"];
  }
}

INSTANTIATE_TEST_SUITE_P(All, GenerateParity, testing::ValuesIn(kModels), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace hone

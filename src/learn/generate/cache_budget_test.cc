// The plan of a session is within the budget that its cache was fitted to.
#include "learn/generate/cache_budget.h"

#include <gtest/gtest.h>

#include "base/core/whole_test.h"
#include "engine/backends/backends.h"
#include "engine/session/session.h"
#include "learn/generate/errors.h"
#include "learn/models/goldens_test.h"
#include "learn/pretrained/pretrained.h"

namespace hone {
namespace {

CacheLimits wanted_of(const ModelConfig& config, WeightStorage weights) {
  CacheLimits l{.rows = 48, .tokens = 1024, .longest_prompt = 64, .weights = weights};
  if (family_of(config).encoder) {
    l.sources = 16;
    l.longest_source = 512;
  }
  return l;
}

std::vector<ModelConfig> tiny_models() {
  std::vector<ModelConfig> all;
  OpenOptions options;
  options.need_tokenizer = false;
  for (const char* key : {"sequences", "sources"})
    for (const std::string& name : goldens_with("models", key))
      all.push_back(
          open_pretrained(std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/" + name, options)
              .value()
              .config);
  return all;
}

// Each model has its weights in one form, or in all of them when run whole.
TEST(CacheBudget, PlansStayWithinTheBudget) {
  const auto backend = open_backend("cpu", {.threads = 1}).value();
  constexpr std::array kForms{WeightStorage::f32, WeightStorage::bf16, WeightStorage::i8};
  size_t model = 0;
  for (const ModelConfig& config : tiny_models()) {
    const WeightStorage sampled = kForms[model++ % kForms.size()];
    for (const WeightStorage weights : kForms) {
      if (weights != sampled && !tests_whole()) continue;
      const CacheLimits wanted = wanted_of(config, weights);
      const CachePlan whole = plan_cache(config, wanted, *backend).value();
      CacheLimits one = wanted;
      one.most_pages = wanted.blocks();
      one.most_source_pages = wanted.source_blocks();
      const CachePlan least = plan_cache(config, one, *backend).value();
      ASSERT_LT(least.arena_bytes, whole.arena_bytes) << config.family;
      int64_t pages_before = 0;
      for (const int64_t most :
           {least.arena_bytes, (least.arena_bytes + whole.arena_bytes) / 2, whole.arena_bytes}) {
        const CacheLimits limits =
            fit_cache(config, wanted, {.arena_bytes = most}, *backend).value();
        const Session session =
            Session::compile(build_cached_programs(config, limits).value(), *backend).value();
        EXPECT_LE(session.plan().arena_bytes(), most) << config.family;
        EXPECT_GE(limits.pages(), limits.blocks());
        EXPECT_GT(limits.pages() + limits.source_pages(), pages_before) << config.family;
        pages_before = limits.pages() + limits.source_pages();
      }
      EXPECT_EQ(pages_before, wanted.pages() + wanted.source_pages()) << config.family;
    }
  }
}

TEST(CacheBudget, OneSequenceAlwaysFindsPagesOrIsRefused) {
  const auto backend = open_backend("cpu", {.threads = 1}).value();
  const ModelConfig config = tiny_models()[0];
  const CacheLimits wanted = wanted_of(config, WeightStorage::f32);
  const CacheLimits little = fit_cache(config, wanted, {.cache_bytes = 1}, *backend).value();
  EXPECT_EQ(little.pages(), little.blocks());
  EXPECT_EQ(fit_cache(config, wanted, {.cache_bytes = 1}, *backend, 5).value().pages(),
            5 * little.blocks());
  const auto refused = fit_cache(config, wanted, {.arena_bytes = 1 << 20}, *backend);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(std::string(refused.error().code()), err::kCacheTooLarge.id);
  // Half of the pages: of keys and values of every layer in f32.
  const CachePlan whole = plan_cache(config, wanted, *backend).value();
  EXPECT_EQ(whole.cache_bytes,
            8 * config.layers * config.head_dim * config.kv_heads * wanted.pages() * wanted.page);
  const auto half = fit_cache(config, wanted, {.cache_bytes = whole.cache_bytes / 2}, *backend);
  EXPECT_EQ(half.value().pages(), wanted.pages() / 2);
}

}  // namespace
}  // namespace hone

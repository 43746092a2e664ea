// Requests that come and go while others are decoded.
#include "learn/generate/batcher.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/backends/backends.h"
#include "learn/generate/generate.h"

namespace hone {
namespace {

struct Served {
  explicit Served(const std::string& name, const CacheLimits& limits) {
    OpenOptions options;
    options.need_tokenizer = false;
    auto opened =
        open_pretrained(std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/" + name, options);
    EXPECT_TRUE(opened.ok());
    model = std::move(*opened);
    session.emplace(std::move(
        Session::compile(build_cached_programs(model.config, limits).value(), *backend).value()));
    EXPECT_TRUE(session->allocate().ok());
    EXPECT_TRUE(load_weights(*session, model).ok());
    cached = std::make_unique<CachedModel>(*session, model.config, limits);
    batcher =
        std::make_unique<Batcher>(*cached, nullptr, session->pool(), model.config.max_positions);
  }
  std::unique_ptr<Backend> backend = open_backend("cpu", {.threads = 1}).value();
  Pretrained model;
  std::optional<Session> session;
  std::unique_ptr<CachedModel> cached;
  std::unique_ptr<Batcher> batcher;
};

Prompt prompt_of(int32_t seed, int64_t length) {
  Prompt p;
  for (int64_t i = 0; i < length; ++i)
    p.tokens.push_back(static_cast<int32_t>((seed * 31 + i * 7) % 50 + 2));
  return p;
}

std::shared_ptr<GenerationConfig> config_of(int64_t tokens, int64_t beams = 1) {
  auto c = std::make_shared<GenerationConfig>();
  c->max_new_tokens = tokens;
  c->num_beams = beams;
  return c;
}

using Texts = std::map<size_t, std::vector<int32_t>>;

Batcher::Request request_of(size_t number, std::shared_ptr<GenerationConfig> config, Texts& to) {
  const auto n = static_cast<int32_t>(number);
  return {prompt_of(n, 3 + n * 5 % 23),
          std::move(config),
          number,
          {},
          [&to](Result<std::vector<Generated>> all) {
            ASSERT_TRUE(all.ok()) << all.error().text();
            to[all->front().prompt] = all->front().tokens;
          }};
}

// Greedy, beams and draws, of different lengths, join at different steps.
TEST(Batcher, LateRequestsWriteWhatTheyWriteAlone) {
  const auto config = [](size_t n) {
    auto c = config_of(4 + static_cast<int64_t>(n) * 3 % 11, n % 3 == 1 ? 2 : 1);
    c->do_sample = n % 3 == 2;
    return c;
  };
  const CacheLimits limits{.rows = 5, .tokens = 48, .longest_prompt = 26, .page = 4};
  Texts together, alone;
  Served a("llama_tied_tiny", limits), b("llama_tied_tiny", limits);
  for (size_t n = 0; n < 12; ++n) {
    a.batcher->add(request_of(n, config(n), together));
    for (size_t i = 0; i < n % 4; ++i) a.batcher->step();
    EXPECT_LE(a.batcher->used_rows(), 5);
  }
  while (a.batcher->step()) continue;
  for (size_t n = 0; n < 12; ++n) {
    b.batcher->add(request_of(n, config(n), alone));
    while (b.batcher->step()) continue;
  }
  EXPECT_EQ(together.size(), 12u);
  EXPECT_EQ(together, alone);
}

// 12 pages of 4 tokens: two requests of 24 tokens, although there are rows for more.
TEST(Batcher, WaitsForPages) {
  Texts texts;
  Served s("gpt2_tiny",
           {.rows = 8, .tokens = 24, .longest_prompt = 20, .page = 4, .most_pages = 12});
  EXPECT_FALSE(s.batcher->fits(prompt_of(1, 20), *config_of(5)));
  EXPECT_FALSE(s.batcher->fits(prompt_of(1, 8), *config_of(5, 4)));
  for (size_t n = 0; n < 5; ++n) {
    Batcher::Request r = request_of(n, config_of(4), texts);
    r.prompt = prompt_of(static_cast<int32_t>(n), 20);
    s.batcher->add(std::move(r));
  }
  s.batcher->step();
  EXPECT_EQ(s.batcher->running(), 2u);
  EXPECT_EQ(s.batcher->waiting(), 3u);
  EXPECT_EQ(s.batcher->used_pages(), 12);
  while (s.batcher->step()) EXPECT_LE(s.batcher->used_pages(), 12);
  EXPECT_EQ(texts.size(), 5u);
  EXPECT_EQ(s.batcher->used_pages(), 0);
}

// The largest program has 64 tokens: a prompt of 100 takes two steps, and the other sequence
// generates in both.
TEST(Batcher, LongPromptsLeaveOthersTheirSteps) {
  Served s("llama_tied_tiny", {.rows = 2, .tokens = 64, .longest_prompt = 32, .page = 4});
  ASSERT_EQ(s.cached->most_tokens(), 64);
  std::vector<size_t> order;
  const auto add = [&](size_t number, int64_t length, int64_t tokens) {
    s.batcher->add({prompt_of(static_cast<int32_t>(number), length),
                    config_of(tokens),
                    number,
                    [&order, number](size_t, int32_t) { order.push_back(number); },
                    {}});
  };
  add(1, 2, 4);
  s.batcher->step();
  add(2, 62, 2);
  while (s.batcher->step()) continue;
  EXPECT_EQ(order, (std::vector<size_t>{1, 1, 2, 1, 2, 1}));
}

TEST(Batcher, CancelledRequestsGiveEverythingBack) {
  Texts texts;
  Served s("gpt2_tiny", {.rows = 4, .tokens = 30, .longest_prompt = 9, .page = 4});
  for (int round = 0; round < 20; ++round) {
    const Batcher::Ticket a = s.batcher->add(request_of(1, config_of(9, 2), texts));
    const Batcher::Ticket b = s.batcher->add(request_of(2, config_of(9, 4), texts));
    s.batcher->step();
    s.batcher->step();
    EXPECT_TRUE(s.batcher->cancel(a));
    EXPECT_TRUE(s.batcher->cancel(b));
    EXPECT_FALSE(s.batcher->cancel(a));
    EXPECT_FALSE(s.batcher->step());
    EXPECT_EQ(s.batcher->used_pages(), 0);
    EXPECT_EQ(s.batcher->used_rows(), 0);
  }
  EXPECT_TRUE(texts.empty());
}

}  // namespace
}  // namespace hone

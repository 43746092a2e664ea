// Requests that come and go while others are decoded.
#include "learn/generate/batcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/backends/backends.h"
#include "learn/generate/errors.h"
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
    s.batcher->add(
        {prompt_of(static_cast<int32_t>(number), length),
         config_of(tokens),
         number,
         [&order, number](size_t, int32_t, const TokenLogprobs*) { order.push_back(number); },
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

std::vector<Generated> all_of(Served& s, const Prompt& prompt,
                              std::shared_ptr<GenerationConfig> config) {
  std::vector<Generated> out;
  s.batcher->add({prompt, std::move(config), 0, {}, [&](Result<std::vector<Generated>> all) {
                    ASSERT_TRUE(all.ok()) << all.error().text();
                    out = std::move(*all);
                  }});
  while (s.batcher->step()) continue;
  return out;
}

// A prompt that is the answer to another has the log probabilities of that answer, also when other
// sequences are decoded meanwhile.
TEST(Batcher, LogProbabilitiesOfPromptsAreThoseOfAnswers) {
  for (const char* name : {"llama_tied_tiny", "gpt2_tiny", "lfm2_tiny", "qwen3_5_tiny"}) {
    Served s(name, {.rows = 3, .tokens = 24, .longest_prompt = 20, .page = 4});
    auto config = config_of(10);
    config->top_logprobs = 3;
    const Prompt prompt = prompt_of(1, 5);
    const Generated g = all_of(s, prompt, config).front();
    ASSERT_EQ(g.logprobs.size(), g.tokens.size());
    EXPECT_TRUE(g.prompt_logprobs.empty());
    for (size_t i = 0; i < g.tokens.size(); ++i) {
      const TokenLogprobs& one = g.logprobs[i];
      EXPECT_EQ(one.token, g.tokens[i]);
      ASSERT_EQ(one.top.size(), 3u);
      EXPECT_EQ(one.top[0].token, one.token);  // greedy
      EXPECT_EQ(one.top[0].score, one.logprob);
      EXPECT_GE(one.top[1].score, one.top[2].score);
    }
    Prompt whole = prompt;
    whole.tokens.insert(whole.tokens.end(), g.tokens.begin(), g.tokens.end());
    auto again = config_of(1);
    again->top_logprobs = 0;
    again->prompt_logprobs = true;
    Texts other;
    s.batcher->add(request_of(3, config_of(6), other));
    const Generated scored = all_of(s, whole, again).front();
    ASSERT_EQ(scored.prompt_logprobs.size(), whole.tokens.size() - 1);
    for (size_t i = 0; i < g.tokens.size(); ++i) {
      const TokenLogprobs& one = scored.prompt_logprobs[prompt.tokens.size() - 1 + i];
      EXPECT_EQ(one.token, g.tokens[i]);
      EXPECT_NEAR(one.logprob, g.logprobs[i].logprob, 1e-4);
      EXPECT_TRUE(one.top.empty());
    }
    EXPECT_EQ(other.size(), 1u);
    EXPECT_EQ(s.batcher->used_pages(), 0);
  }
}

double sum_of(const std::vector<TokenLogprobs>& all) {
  double sum = 0;
  for (const TokenLogprobs& one : all) sum += static_cast<double>(one.logprob);
  return sum;
}

// The score of a beam is made of these log probabilities.
TEST(Batcher, BeamsHaveTheLogProbabilitiesOfTheirTokens) {
  Served s("gpt2_tiny", {.rows = 4, .tokens = 24, .longest_prompt = 20, .page = 4});
  auto config = config_of(8, 4);
  config->num_return_sequences = 3;
  config->eos_token_id = {7, 11, 29};
  config->top_logprobs = 2;
  const Prompt prompt = prompt_of(1, 5);
  const std::vector<Generated> all = all_of(s, prompt, config);
  ASSERT_EQ(all.size(), 3u);
  for (const Generated& g : all) {
    ASSERT_EQ(g.logprobs.size(), g.tokens.size());
    for (size_t i = 0; i < g.tokens.size(); ++i) {
      EXPECT_EQ(g.logprobs[i].token, g.tokens[i]);
      ASSERT_EQ(g.logprobs[i].top.size(), 2u);
      EXPECT_GE(g.logprobs[i].top[0].score, g.logprobs[i].logprob);
    }
    EXPECT_NEAR(g.score * static_cast<double>(g.tokens.size()), sum_of(g.logprobs), 1e-3);
    Prompt whole = prompt;
    whole.tokens.insert(whole.tokens.end(), g.tokens.begin(), g.tokens.end());
    auto again = config_of(1, 2);  // the prompt's log probabilities beside beams
    again->top_logprobs = 0;
    again->prompt_logprobs = true;
    const std::vector<TokenLogprobs> scored = all_of(s, whole, again).front().prompt_logprobs;
    ASSERT_EQ(scored.size(), whole.tokens.size() - 1);
    for (size_t i = 0; i < g.tokens.size(); ++i)
      EXPECT_NEAR(scored[prompt.tokens.size() - 1 + i].logprob, g.logprobs[i].logprob, 1e-4);
  }
  EXPECT_EQ(s.batcher->used_pages(), 0);
}

// Tokens 2 to 11 are the digits 0 to 9; there is no other token.
std::shared_ptr<const TokenGrammar> digits_grammar(int64_t vocab,
                                                   std::initializer_list<const char*> texts) {
  auto automaton = std::make_shared<Automaton>();
  const Automaton::Rule r = automaton->add_rule();
  for (const char* text : texts) automaton->free(automaton->text(r.start, text), r.end);
  EXPECT_FALSE(automaton->finish(r.number));
  const auto trie = std::make_shared<const TokenTrie>(vocab, [](int32_t id) {
    constexpr std::string_view kDigits = "0123456789";
    return id >= 2 && id < 12 ? kDigits.substr(static_cast<size_t>(id) - 2, 1) : "";
  });
  return std::make_shared<const TokenGrammar>(TokenGrammar{automaton, trie});
}

TEST(Batcher, AnswersStayInTheirGrammar) {
  Served s("gpt2_tiny", {.rows = 4, .tokens = 30, .longest_prompt = 9, .page = 4});
  for (const bool samples : {false, true}) {
    auto config = config_of(9);
    config->grammar = digits_grammar(s.cached->vocab(), {"3141"});
    config->do_sample = samples;
    config->num_return_sequences = samples ? 3 : 1;
    config->suppress_tokens = {5};  // "3": the grammar takes precedence
    for (const Generated& g : all_of(s, prompt_of(1, 5), config)) {
      EXPECT_EQ(g.tokens, (std::vector<int32_t>{5, 3, 6, 3}));
      EXPECT_TRUE(g.ended);
    }
  }
  auto cut = config_of(2);
  cut->grammar = digits_grammar(s.cached->vocab(), {"3141"});
  EXPECT_FALSE(all_of(s, prompt_of(1, 5), cut).front().ended);
  auto wrong = config_of(9);
  wrong->grammar = digits_grammar(s.cached->vocab(), {"31x1"});
  std::string code;
  s.batcher->add({prompt_of(1, 5), wrong, 0, {}, [&](Result<std::vector<Generated>> all) {
                    code = all.error().code();
                  }});
  while (s.batcher->step()) continue;
  EXPECT_EQ(code, err::kNoTokenFits.id);
  EXPECT_EQ(s.batcher->used_rows(), 0);
}

// Three texts, fewer than the beams: each is found, the most probable one first. More results than
// texts repeat the best one.
TEST(Batcher, BeamsStayInTheirGrammar) {
  Served s("gpt2_tiny", {.rows = 5, .tokens = 30, .longest_prompt = 9, .page = 4});
  const std::vector<std::vector<int32_t>> texts{{5, 3, 6, 3}, {5, 3, 6, 7}, {9}};
  for (const bool samples : {false, true}) {
    auto config = config_of(9, 4);
    config->grammar = digits_grammar(s.cached->vocab(), {"3141", "3145", "7"});
    config->do_sample = samples;
    config->num_return_sequences = samples ? 1 : 4;
    config->suppress_tokens = {5};  // "3": the grammar takes precedence where only it is left
    config->top_logprobs = 0;
    const std::vector<Generated> all = all_of(s, prompt_of(1, 5), config);
    for (const Generated& g : all) {
      EXPECT_EQ(std::count(texts.begin(), texts.end(), g.tokens), 1) << g.score;
      EXPECT_TRUE(g.ended);
      EXPECT_EQ(g.logprobs.size(), g.tokens.size());
    }
    EXPECT_EQ(all.front().tokens, texts[2]);
    EXPECT_EQ(all.back().tokens, texts[2]);
  }
  auto config = config_of(9, 4);
  config->num_return_sequences = 4;
  config->grammar = digits_grammar(s.cached->vocab(), {"3141", "3145", "7"});
  config->top_logprobs = 0;
  const std::vector<Generated> all = all_of(s, prompt_of(1, 5), config);
  ASSERT_EQ(all.size(), 4u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::count(texts.begin(), texts.end(), all[i].tokens), 1);
    EXPECT_NEAR(all[i].score * static_cast<double>(all[i].tokens.size()), sum_of(all[i].logprobs),
                1e-3);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(all[i].tokens, all[j].tokens);
  }
  EXPECT_GT(all[0].score, all[1].score);
  EXPECT_GT(all[1].score, all[2].score);
  EXPECT_EQ(all[3].tokens, all[0].tokens);
  // Cut by the length, and without a token that fits.
  auto cut = config_of(2, 4);
  cut->grammar = digits_grammar(s.cached->vocab(), {"3141"});
  EXPECT_FALSE(all_of(s, prompt_of(1, 5), cut).front().ended);
  auto wrong = config_of(9, 4);
  wrong->grammar = digits_grammar(s.cached->vocab(), {"31x1"});
  std::string code;
  s.batcher->add({prompt_of(1, 5), wrong, 0, {}, [&](Result<std::vector<Generated>> r) {
                    code = r.error().code();
                  }});
  while (s.batcher->step()) continue;
  EXPECT_EQ(code, err::kNoTokenFits.id);
  EXPECT_EQ(s.batcher->used_pages(), 0);
}

}  // namespace
}  // namespace hone

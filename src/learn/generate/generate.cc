#include "learn/generate/generate.h"

#include <algorithm>

#include "learn/generate/errors.h"

namespace hone {
Status check_prompts(std::span<const Prompt> prompts, const GenerationConfig& config, int64_t vocab,
                     int64_t positions) {
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto& tokens = prompts[i].tokens;
    const auto n = static_cast<int64_t>(tokens.size());
    if (n == 0)
      return Error(err::kBadPrompt, fmt::format("prompt {} has no tokens", i + 1))
          .todo("give it some text; the model has no begin token to start from");
    for (int32_t t : tokens)
      if (t < 0 || t >= vocab)
        return Error(err::kBadPrompt,
                     fmt::format("prompt {} has token {}; the model has tokens 0 to {}", i + 1, t,
                                 vocab - 1))
            .todo("use the tokenizer that belongs to the model");
    if (n >= positions)
      return Error(err::kPromptTooLong, fmt::format("prompt {} has {} tokens; the model has {} "
                                                    "positions, prompt and new tokens together",
                                                    i + 1, n, positions))
          .todo("shorten the prompt");
    if (config.end_length(n, positions) <= n)
      return Error(err::kPromptTooLong,
                   fmt::format("prompt {} has {} tokens, max_length {} leaves none for new ones",
                               i + 1, n, config.max_length.value_or(0)))
          .todo("raise --max_length, which counts the prompt, or use --max_new_tokens");
  }
  return Ok{};
}

Status check_sources(std::span<const Prompt> prompts, const ModelConfig& model) {
  if (!family_of(model).encoder) return Ok{};
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto& source = prompts[i].source;
    const auto n = static_cast<int64_t>(source.size());
    if (n == 0)
      return Error(err::kBadPrompt, fmt::format("prompt {} has no tokens for the encoder", i + 1))
          .todo("give it some text");
    for (int32_t t : source)
      if (t < 0 || t >= model.source_vocab)
        return Error(err::kBadPrompt,
                     fmt::format("prompt {} has token {}; the model's encoder has tokens 0 to {}",
                                 i + 1, t, model.source_vocab - 1))
            .todo("use the tokenizer that belongs to the model");
    if (n > model.max_positions)
      return Error(err::kPromptTooLong,
                   fmt::format("prompt {} has {} tokens; the model's encoder has {} positions",
                               i + 1, n, model.max_positions))
          .todo("shorten the prompt");
  }
  return Ok{};
}

CacheLimits limits_for(std::span<const Prompt> prompts, const GenerationConfig& config,
                       const ModelConfig& model, int64_t batch) {
  CacheLimits limits;
  const int64_t together =
      std::max<int64_t>(1, std::min(batch, static_cast<int64_t>(prompts.size())));
  for (const Prompt& p : prompts) {
    const CacheLimits n = Batcher::needs(p, config, model.max_positions);
    limits.rows = n.rows * together;
    limits.longest_source = std::max(limits.longest_source, n.longest_source);
    limits.longest_prompt = std::max(limits.longest_prompt, n.longest_prompt);
    limits.tokens = std::max(limits.tokens, n.tokens);
  }
  if (limits.longest_source > 0) limits.sources = together;
  return limits;
}

Result<std::unique_ptr<Generator>> Generator::make(const Pretrained& model,
                                                   const CacheLimits& limits,
                                                   const Backend& backend) {
  HONE_BUG_IF(limits.rows < 1 || limits.tokens < 1 || limits.page < 1,
              "empty limits of a generator");
  std::unique_ptr<Generator> g(new Generator());
  g->own_ =
      HONE_TRY(Session::compile(HONE_TRY(build_cached_programs(model.config, limits)), backend));
  HONE_TRY(g->own_->allocate());
  HONE_TRY(load_weights(*g->own_, model));
  g->begin(*g->own_, model, limits);
  return g;
}

std::unique_ptr<Generator> Generator::over(Session& session, const Pretrained& model,
                                           const CacheLimits& limits) {
  std::unique_ptr<Generator> g(new Generator());
  g->begin(session, model, limits);
  return g;
}

void Generator::begin(Session& session, const Pretrained& model, const CacheLimits& limits) {
  session_ = &session;
  config_ = model.config;
  tokenizer_ = model.tokenizer;
  model_ = std::make_unique<CachedModel>(session, model.config, limits);
  batcher_ = std::make_unique<Batcher>(*model_, tokenizer_ ? &*tokenizer_ : nullptr, session.pool(),
                                       config_.max_positions);
}

Result<std::vector<Generated>> Generator::run(std::span<const Prompt> prompts,
                                              const GenerationConfig& config,
                                              const GenerateCallbacks& callbacks) {
  HONE_TRY(check_generation(config, config_.vocab));
  HONE_TRY(check_prompts(prompts, config, config_.vocab, config_.max_positions));
  HONE_TRY(check_sources(prompts, config_));
  if (!config.stop_strings.empty() && !tokenizer_)
    return Error(err::kGenerationNotOffered,
                 "stop strings need a tokenizer, and the model has none")
        .todo("name one with --tokenizer_name, or end at tokens with --eos_token_id");
  const auto shared = std::make_shared<const GenerationConfig>(config);
  std::vector<Generated> results;
  std::optional<Error> failed;
  size_t next = 0;
  const auto add = [&] {
    const size_t i = next++;
    Batcher::Request r{prompts[i], shared, i};
    if (callbacks.token)
      r.token = [&, i](size_t sequence, int32_t token, const TokenLogprobs*) {
        callbacks.token(i, sequence, token);
      };
    r.done = [&](Result<std::vector<Generated>> all) {
      if (!all.ok()) {
        if (!failed) failed = std::move(all.error());
        return;
      }
      results.insert(results.end(), all->begin(), all->end());
      if (callbacks.done) callbacks.done(std::move(*all));
    };
    batcher_->add(std::move(r));
  };
  const auto most = static_cast<size_t>(model_->limits().rows);
  do {
    while (next < prompts.size() && batcher_->waiting() < most) add();
  } while (batcher_->step() && !failed);
  if (failed) {
    batcher_->clear();
    return std::move(*failed);
  }
  std::sort(results.begin(), results.end(), [](const Generated& a, const Generated& b) {
    return std::pair(a.prompt, a.sequence) < std::pair(b.prompt, b.sequence);
  });
  return results;
}

}  // namespace hone

#include "learn/generate/generate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "learn/generate/beams.h"
#include "learn/generate/errors.h"
#include "learn/generate/scores.h"
#include "learn/generate/stop_strings.h"

namespace hone {
namespace {

// A token of softmax(score), by inverting the distribution function.
int32_t draw(std::span<const Candidate> candidates, double uniform) {
  float most = candidates[0].score;
  for (const Candidate& c : candidates) most = std::max(most, c.score);
  double all = 0;
  for (const Candidate& c : candidates) all += static_cast<double>(std::exp(c.score - most));
  double left = uniform * all;
  for (const Candidate& c : candidates) {
    left -= static_cast<double>(std::exp(c.score - most));
    if (left < 0) return c.token;
  }
  return candidates.back().token;
}

int64_t rows_of(const GenerationConfig& c) {
  return c.num_beams > 1 ? c.num_beams : c.num_return_sequences;
}

PhiloxStream stream_of(const GenerationConfig& c, size_t prompt, size_t sequence) {
  return PhiloxStream(
      dropout_key(c.seed, prompt, scope_hash(fmt::format("generate.{}", sequence))));
}

}  // namespace

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
  limits.rows = rows_of(config) * together;
  for (const Prompt& p : prompts) {
    limits.longest_source = std::max(limits.longest_source, static_cast<int64_t>(p.source.size()));
    const auto n = static_cast<int64_t>(p.tokens.size());
    limits.longest_prompt = std::max(limits.longest_prompt, n);
    limits.tokens = std::max(limits.tokens, config.end_length(n, model.max_positions));
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
}

// One call of run(): prompts wait, are worked on and get done.
class Generator::Work {
 public:
  Work(Generator& g, std::span<const Prompt> prompts, const GenerationConfig& config,
       const GenerateCallbacks& callbacks)
      : model_(*g.model_),
        times_(g.times_),
        positions_(g.config_.max_positions),
        prompts_(prompts),
        config_(config),
        callbacks_(callbacks),
        rules_(config),
        stops_(g.tokenizer_ ? &*g.tokenizer_ : nullptr, config.stop_strings),
        pool_(g.session_->pool()),
        whole_scores_(!rules_.none() || config.do_sample),
        scores_(static_cast<size_t>((config.num_beams == 1 ? 1
                                     : whole_scores_       ? model_.limits().rows
                                                           : 0) *
                                    model_.vocab())),
        norms_(static_cast<size_t>(config.num_beams > 1 ? model_.limits().rows : 0)) {}

  Result<std::vector<Generated>> run() {
    while (waiting_ < prompts_.size() || !groups_.empty()) {
      admit();
      if (!not_finite_) decode();
      if (not_finite_) return end_not_finite();
      std::erase_if(groups_, [](const std::unique_ptr<Group>& g) { return g->members.empty(); });
    }
    std::sort(results_.begin(), results_.end(), [](const Generated& a, const Generated& b) {
      return std::pair(a.prompt, a.sequence) < std::pair(b.prompt, b.sequence);
    });
    return std::move(results_);
  }

 private:
  struct Member {  // a sequence that continues
    size_t sequence;
    CacheEntry cache;
    std::vector<int32_t> tokens;  // prompt and new ones; for beams the search has them
    PhiloxStream random;
  };
  struct Group {  // one prompt
    size_t prompt;
    int64_t end;                  // length at which it ends
    std::vector<Member> members;  // alive; none: done
    std::vector<Generated> done;
    std::optional<BeamSearch> beams;
  };

  bool ends(std::span<const int32_t> tokens) const {
    const auto& eos = config_.eos_token_id;
    return std::find(eos.begin(), eos.end(), tokens.back()) != eos.end() || stops_.hit(tokens);
  }
  int64_t prompt_length(const Group& g) const {
    return static_cast<int64_t>(prompts_[g.prompt].tokens.size());
  }

  std::span<const int32_t> source_of(const Group& g) const {
    const Prompt& p = prompts_[g.prompt];
    return p.source.empty() ? p.tokens : p.source;
  }

  // Takes waiting prompts into free rows, reads them into the cache and chooses their first tokens.
  void admit() {
    const int64_t rows = rows_of(config_);
    int64_t used = 0;
    for (const auto& g : groups_) used += static_cast<int64_t>(g->members.size());
    const size_t first = groups_.size();
    for (; waiting_ < prompts_.size() && used + rows <= model_.limits().rows; used += rows) {
      const std::vector<int32_t>& prompt = prompts_[waiting_].tokens;
      auto g = std::make_unique<Group>(
          Group{waiting_,
                config_.end_length(static_cast<int64_t>(prompt.size()), positions_),
                {},
                {},
                {}});
      for (size_t i = 0; i < static_cast<size_t>(rows); ++i) {
        g->members.push_back({i, {}, {}, stream_of(config_, waiting_, i)});
        g->members.back().tokens.reserve(static_cast<size_t>(g->end));
        g->members.back().tokens = prompt;
      }
      if (config_.num_beams > 1)
        g->beams.emplace(
            config_, prompt, g->end, [this](std::span<const int32_t> t) { return ends(t); },
            stream_of(config_, waiting_, 0));
      times_.prompt_tokens +=
          static_cast<int64_t>(prompt.size() + prompts_[waiting_].source.size());
      groups_.push_back(std::move(g));
      ++waiting_;
    }
    if (first == groups_.size()) return;
    feeds_.clear();
    for (size_t i = first; i < groups_.size(); ++i)
      if (const std::vector<int32_t>& source = prompts_[groups_[i]->prompt].source; !source.empty())
        feeds_.push_back({&groups_[i]->members[0].cache, source});
    if (!feeds_.empty()) encode();
    feeds_.clear();
    for (size_t i = first; i < groups_.size(); ++i)
      feeds_.push_back({&groups_[i]->members[0].cache, prompts_[groups_[i]->prompt].tokens});
    const float* logits = timed(times_.prefill);
    norm_beams(logits);
    for (size_t i = first, row = 0; i < groups_.size(); ++i, ++row, logits += model_.vocab()) {
      Group& g = *groups_[i];
      if (!finite(i, logits, 1)) return;
      for (size_t m = 1; m < g.members.size(); ++m)
        g.members[m].cache = model_.fork(g.members[0].cache);
      advance(g, logits, row, 0);
    }
  }

  // One token more for every sequence.
  void decode() {
    feeds_.clear();
    for (const auto& g : groups_)
      for (size_t m = 0; m < g->members.size(); ++m) {
        const std::vector<int32_t>& tokens =
            g->beams ? g->beams->beams()[m].tokens : g->members[m].tokens;
        feeds_.push_back({&g->members[m].cache, std::span(tokens).last(1)});
      }
    if (feeds_.empty()) return;
    const float* logits = timed(times_.decode);
    norm_beams(logits);
    size_t row = 0;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const auto& g = groups_[i];
      const size_t rows = g->members.size();
      if (!finite(i, logits, rows)) return;
      if (rows > 0) advance(*g, logits, row, 1);
      logits += static_cast<int64_t>(rows) * model_.vocab();
      row += rows;
    }
  }

  // A value that is not finite makes all logits of its row NaN, by the norm in front of them.
  bool finite(size_t group, const float* logits, size_t rows) {
    for (size_t r = 0; r < rows; ++r)
      if (!std::isfinite(logits[static_cast<int64_t>(r) * model_.vocab()])) not_finite_ = group;
    return !not_finite_;
  }

  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  const float* timed(double& seconds) {
    const auto start = Clock::now();
    const float* logits = model_.run(feeds_).data();
    seconds += since(start);
    return logits;
  }

  Error end_not_finite() {
    const Group& g = *groups_[*not_finite_];
    const size_t tokens = g.beams ? g.beams->beams()[0].tokens.size() : g.members[0].tokens.size();
    const size_t prompt = g.prompt;
    for (const auto& group : groups_)
      for (Member& m : group->members) model_.drop(m.cache);
    return Error(err::kLogitsNotFinite,
                 fmt::format("the logits after token {} of prompt {} are not finite", tokens,
                             prompt + 1))
        .todo(
            "the activations overflow, as after a training that diverged: take an earlier "
            "checkpoint");
  }

  void encode() {
    const auto start = Clock::now();
    model_.encode(feeds_);
    times_.prefill += since(start);
  }

  // Logits of the group's members, the first of them that of feed `row`; the others' are `stride`
  // rows apart, 0 where all share one.
  void advance(Group& g, const float* logits, size_t row, int64_t stride) {
    if (g.beams)
      advance_beams(g, logits, row, stride);
    else
      advance_sequences(g, logits, stride * model_.vocab());
    if (!g.members.empty()) return;
    std::sort(g.done.begin(), g.done.end(),
              [](const Generated& a, const Generated& b) { return a.sequence < b.sequence; });
    results_.insert(results_.end(), g.done.begin(), g.done.end());
    if (callbacks_.done) callbacks_.done(std::move(g.done));
  }

  // Beams compare log probabilities: for every row fed, what makes them of its logits, or, where
  // rules change them or draws need them all, themselves in scores_.
  void norm_beams(const float* logits) {
    if (config_.num_beams == 1) return;
    const auto V = static_cast<size_t>(model_.vocab());
    const auto norm = [&](int64_t begin, int64_t end, int) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        norms_[i] = log_norm({logits + i * V, V});
        if (!whole_scores_) continue;
        for (size_t t = 0; t < V; ++t) scores_[i * V + t] = norms_[i](logits[i * V + t]);
        norms_[i] = {};
      }
    };
    pool_.parallel_for(static_cast<int64_t>(feeds_.size()), norm);
  }

  void advance_sequences(Group& g, const float* logits, int64_t stride) {
    const auto V = static_cast<size_t>(model_.vocab());
    size_t kept = 0;
    for (size_t m = 0; m < g.members.size(); ++m, logits += stride) {
      Member& s = g.members[m];
      std::span<const float> row(logits, V);
      if (!rules_.none()) {
        const std::span<float> own(scores_);
        std::copy(row.begin(), row.end(), own.begin());
        rules_.apply(own, s.tokens, prompt_length(g), g.end, source_of(g));
        row = own;
      }
      int32_t token;
      if (config_.do_sample) {
        std::span<const Candidate> candidates = rules_.warp(row);
        token = candidates.empty() ? argmax(row) : draw(candidates, s.random.next_uniform());
      } else {
        token = argmax(row);
      }
      s.tokens.push_back(token);
      ++times_.new_tokens;
      if (callbacks_.token) callbacks_.token(g.prompt, s.sequence, token);
      const bool ended = ends(s.tokens);
      if (ended || static_cast<int64_t>(s.tokens.size()) >= g.end) {
        model_.drop(s.cache);
        g.done.push_back({g.prompt,
                          s.sequence,
                          {s.tokens.begin() + prompt_length(g), s.tokens.end()},
                          0,
                          ended});
      } else {
        if (kept != m) g.members[kept] = std::move(s);
        ++kept;
      }
    }
    g.members.erase(g.members.begin() + static_cast<std::ptrdiff_t>(kept), g.members.end());
  }

  void advance_beams(Group& g, const float* logits, size_t row, int64_t stride) {
    const auto V = static_cast<size_t>(model_.vocab());
    rows_.clear();
    for (size_t m = 0; m < g.members.size(); ++m, ++row, logits += V) {
      if (stride == 0 && m > 0) {
        rows_.push_back(rows_[0]);
        continue;
      }
      std::span<const float> scores(logits, V);
      if (whole_scores_) {
        const std::span<float> own = std::span(scores_).subspan(row * V, V);
        rules_.apply(own, g.beams->beams()[m].tokens, prompt_length(g), g.end, source_of(g));
        scores = own;
        if (config_.renormalize_logits && !config_.do_sample) norms_[row] = log_norm(own);
      }
      rows_.push_back({scores, norms_[row]});
    }
    g.beams->step(rows_, rules_);
    ++times_.new_tokens;
    if (g.beams->done()) {
      for (const BeamSearch::Hypothesis& h : g.beams->results())
        g.done.push_back({g.prompt,
                          g.done.size(),
                          {h.tokens.begin() + prompt_length(g), h.tokens.end()},
                          static_cast<double>(h.score),
                          h.finished && ends(h.tokens)});
      for (Member& m : g.members) model_.drop(m.cache);
      g.members.clear();
      return;
    }
    // Beams take over their parents' pages; the old lists go once all have taken what they need.
    caches_.clear();
    for (const BeamSearch::Beam& b : g.beams->beams())
      caches_.push_back(model_.fork(g.members[b.parent].cache));
    for (size_t m = 0; m < g.members.size(); ++m) {
      model_.drop(g.members[m].cache);
      g.members[m].cache = std::move(caches_[m]);
    }
  }

  CachedModel& model_;
  Times& times_;
  int64_t positions_;
  std::span<const Prompt> prompts_;
  const GenerationConfig& config_;
  const GenerateCallbacks& callbacks_;
  ScoreRules rules_;
  StopStrings stops_;
  ThreadPool& pool_;
  bool whole_scores_;           // beams need every log probability, not the best alone
  std::vector<float> scores_;   // [V]; of beams [rows, V] with whole_scores_, else none
  std::vector<LogNorm> norms_;  // of beams [rows]
  size_t waiting_ = 0;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<Feed> feeds_;
  std::vector<BeamSearch::Row> rows_;
  std::vector<CacheEntry> caches_;
  std::vector<Generated> results_;
  std::optional<size_t> not_finite_;  // group whose logits are not
};

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
  HONE_BUG_IF(rows_of(config) > model_->limits().rows, "{} rows where {} were planned",
              rows_of(config), model_->limits().rows);
  return Work(*this, prompts, config, callbacks).run();
}

}  // namespace hone

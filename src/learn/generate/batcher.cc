#include "learn/generate/batcher.h"

#include <algorithm>
#include <cmath>

#include "base/core/clock.h"
#include "learn/generate/errors.h"
#include "learn/generate/scores.h"
#include "learn/generate/stop_strings.h"

namespace hone {
namespace {

// Tokens of sources that one step encodes while other sequences wait for their next token.
constexpr int64_t kSourceTokensBetween = 1024;

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

int64_t sequences_of(const GenerationConfig& c) {
  return c.num_beams > 1 ? c.num_beams : c.num_return_sequences;
}

PhiloxStream stream_of(const GenerationConfig& c, size_t prompt, size_t sequence) {
  return PhiloxStream(
      dropout_key(c.seed, prompt, scope_hash(fmt::format("generate.{}", sequence))));
}

}  // namespace

// The rules of a config.
struct Batcher::Recipe {
  Recipe(std::shared_ptr<const GenerationConfig> c, const Tokenizer* tokenizer)
      : config(std::move(c)),
        rules(*config),
        stops(tokenizer, config->stop_strings),
        kind(kind_of(*config, !rules.none() || config->do_sample || config->grammar)) {
    if (config->grammar) masks.emplace(*config->grammar, config->eos_token_id);
  }

  bool ends(std::span<const int32_t> tokens) const {
    const auto& eos = config->eos_token_id;
    return std::find(eos.begin(), eos.end(), tokens.back()) != eos.end() || stops.hit(tokens);
  }

  std::shared_ptr<const GenerationConfig> config;
  ScoreRules rules;
  StopStrings stops;
  RowKind kind;
  std::optional<TokenMasks> masks;

 private:
  // whole: every score of a row is needed, not the best alone.
  static RowKind kind_of(const GenerationConfig& c, bool whole) {
    if (c.num_beams > 1) return whole ? RowKind::whole_beams : RowKind::beams;
    return whole ? RowKind::none : RowKind::greedy;
  }
};

// One request.
struct Batcher::Group {
  struct Member {  // a sequence that continues
    size_t sequence;
    CacheEntry cache;
    std::vector<int32_t> tokens;  // prompt and new ones; for beams the search has them
    PhiloxStream random;
    TokenMasks::Place place = {};  // in the grammar
    std::vector<TokenLogprobs> logprobs = {};
  };

  int64_t prompt_length() const { return static_cast<int64_t>(request.prompt.tokens.size()); }
  std::span<const int32_t> source() const {
    const Prompt& p = request.prompt;
    return p.source.empty() ? p.tokens : p.source;
  }

  Ticket ticket;
  Request request;
  std::shared_ptr<Recipe> recipe;
  CacheLimits needs;            // rows, pages that it holds; tokens: the length at which it ends
  int64_t read = 0;             // tokens of the prompt that are in the cache
  std::vector<Member> members;  // alive; none: done
  std::vector<TokenLogprobs> prompt_logprobs;
  std::vector<Generated> done;
  std::optional<BeamSearch> beams;
};

Batcher::Batcher(CachedModel& model, const Tokenizer* tokenizer, ThreadPool& pool,
                 int64_t positions)
    : model_(model),
      tokenizer_(tokenizer),
      pool_(pool),
      positions_(positions),
      row_(static_cast<size_t>(model.vocab())),
      norms_(static_cast<size_t>(model.limits().rows)),
      best_(static_cast<size_t>(model.limits().rows)),
      kinds_(static_cast<size_t>(model.limits().rows)) {}

Batcher::~Batcher() { clear(); }

CacheLimits Batcher::needs(const Prompt& prompt, const GenerationConfig& config,
                           int64_t positions) {
  CacheLimits n;
  n.rows = sequences_of(config);
  n.longest_prompt = static_cast<int64_t>(prompt.tokens.size());
  n.tokens = config.end_length(n.longest_prompt, positions);
  n.longest_source = static_cast<int64_t>(prompt.source.size());
  n.sources = n.longest_source > 0 ? 1 : 0;
  return n;
}

bool Batcher::fits(const Prompt& prompt, const GenerationConfig& config) const {
  CacheLimits n = needs(prompt, config, positions_);
  const CacheLimits& all = model_.limits();
  n.page = all.page;
  return n.rows <= all.rows && n.tokens <= all.tokens && n.pages() <= all.pages() &&
         n.sources <= all.sources && n.longest_source <= all.longest_source &&
         n.source_pages() <= all.source_pages();
}

std::shared_ptr<Batcher::Recipe> Batcher::recipe_of(
    const std::shared_ptr<const GenerationConfig>& config) {
  if (!recipe_ || recipe_->config != config) recipe_ = std::make_shared<Recipe>(config, tokenizer_);
  return recipe_;
}

Batcher::Ticket Batcher::add(Request request) {
  HONE_BUG_IF(!fits(request.prompt, *request.config), "a request that can never run");
  auto g = std::make_unique<Group>();
  g->ticket = next_++;
  g->request = std::move(request);
  g->recipe = recipe_of(g->request.config);
  g->needs = needs(g->request.prompt, *g->request.config, positions_);
  g->needs.page = model_.limits().page;
  if (g->recipe->kind == RowKind::whole_beams)
    scores_.resize(static_cast<size_t>(model_.limits().rows * model_.vocab()));
  waiting_.push_back(std::move(g));
  return waiting_.back()->ticket;
}

bool Batcher::cancel(Ticket ticket) {
  const auto is = [&](const std::unique_ptr<Group>& g) { return g->ticket == ticket; };
  if (const auto w = std::find_if(waiting_.begin(), waiting_.end(), is); w != waiting_.end()) {
    waiting_.erase(w);
    return true;
  }
  const auto g = std::find_if(groups_.begin(), groups_.end(), is);
  if (g == groups_.end()) return false;
  release(**g);
  groups_.erase(g);
  return true;
}

void Batcher::clear() {
  waiting_.clear();
  for (const auto& g : groups_) release(*g);
  groups_.clear();
}

// Gives back what a request that runs holds.
void Batcher::release(Group& g) {
  for (Group::Member& m : g.members) model_.drop(m.cache);
  g.members.clear();
  used_rows_ -= g.needs.rows;
  used_pages_ -= g.needs.pages();
  used_sources_ -= g.needs.sources;
  used_source_pages_ -= g.needs.source_pages();
}

void Batcher::end(Group& g) {
  std::sort(g.done.begin(), g.done.end(),
            [](const Generated& a, const Generated& b) { return a.sequence < b.sequence; });
  g.done.front().prompt_logprobs = std::move(g.prompt_logprobs);
  release(g);
  if (g.request.done) g.request.done(std::move(g.done));
}

void Batcher::fail(Group& g, Error why) {
  release(g);
  if (g.request.done) g.request.done(std::move(why));
}

Error Batcher::not_finite(const Group& g) {
  const size_t tokens = g.beams ? g.beams->beams()[0].tokens.size() : g.members[0].tokens.size();
  return Error(err::kLogitsNotFinite,
               fmt::format("the logits after token {} of prompt {} are not finite", tokens,
                           g.request.number + 1))
      .todo(
          "the activations overflow, as after a training that diverged: take an earlier "
          "checkpoint");
}

Error Batcher::no_token_fits() {
  return Error(err::kNoTokenFits, "no token of the model continues an answer by the schema")
      .todo(
          "allow other texts in the schema, or use a model whose vocabulary has the characters of "
          "JSON");
}

// The device has failed, and with it all that runs.
void Batcher::fail_all() {
  for (const auto& g : groups_) {
    release(*g);
    if (g->request.done) g->request.done(std::move(model_.check().error()));
  }
  groups_.clear();
}

// Takes waiting requests into free rows and pages, and reads their sources.
void Batcher::admit() {
  const CacheLimits& all = model_.limits();
  const bool busy = !groups_.empty();
  int64_t encoded = 0;
  feeds_.clear();
  while (!waiting_.empty()) {
    Group& g = *waiting_.front();
    const CacheLimits& n = g.needs;
    if (used_rows_ + n.rows > all.rows || used_pages_ + n.pages() > all.pages() ||
        used_sources_ + n.sources > all.sources ||
        used_source_pages_ + n.source_pages() > all.source_pages())
      break;
    if (busy && encoded > 0 && encoded + n.longest_source > kSourceTokensBetween) break;
    encoded += n.longest_source;
    used_rows_ += n.rows;
    used_pages_ += n.pages();
    used_sources_ += n.sources;
    used_source_pages_ += n.source_pages();
    const GenerationConfig& config = *g.request.config;
    for (size_t i = 0; i < static_cast<size_t>(n.rows); ++i) {
      g.members.push_back({i, {}, {}, stream_of(config, g.request.number, i)});
      g.members.back().tokens.reserve(static_cast<size_t>(g.needs.tokens));
      g.members.back().tokens = g.request.prompt.tokens;
      if (g.recipe->masks) g.members.back().place = g.recipe->masks->begin();
    }
    if (config.num_beams > 1)
      g.beams.emplace(
          config, g.request.prompt.tokens, g.needs.tokens,
          [group = &g](size_t beam, std::span<const int32_t> t) {
            return beam_ends(*group, beam, t);
          },
          stream_of(config, g.request.number, 0));
    times_.prompt_tokens += n.longest_prompt + n.longest_source;
    if (n.sources > 0) feeds_.push_back({&g.members[0].cache, g.request.prompt.source});
    groups_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  if (feeds_.empty()) return;
  const double start = system_clock().seconds();
  model_.encode(feeds_);
  times_.prefill += system_clock().seconds() - start;
}

// True as long as a prompt is read token by token, for the log probabilities of all but its last.
bool Batcher::scores_prompt(const Group& g) {
  return g.recipe->config->prompt_logprobs && g.needs.sources == 0 &&
         g.read < g.prompt_length() - 1;
}

// Reads a part of each prompt whose log probabilities are asked. False: there is none.
bool Batcher::score_prompts() {
  const auto V = static_cast<size_t>(model_.vocab());
  bool any = false;
  for (const auto& g : groups_) {
    if (!scores_prompt(*g)) continue;
    any = true;
    const int64_t count = std::min(model_.limits().rows, g->prompt_length() - 1 - g->read);
    const std::span<const int32_t> tokens = g->request.prompt.tokens;
    const auto begin = static_cast<size_t>(g->read);
    const double start = system_clock().seconds();
    const std::span<const float> logits =
        model_.run_each({&g->members[0].cache, tokens.subspan(begin, static_cast<size_t>(count))});
    times_.prefill += system_clock().seconds() - start;
    if (!model_.check().ok()) return true;
    g->read += count;
    const int64_t top = g->recipe->config->top_logprobs.value_or(0);
    for (size_t i = 0; i < static_cast<size_t>(count) && !g->members.empty(); ++i) {
      const auto row = logits.subspan(i * V, V);
      if (std::isfinite(row[0]))
        g->prompt_logprobs.push_back(logprobs_of(row, tokens[begin + i + 1], top));
      else
        fail(*g, not_finite(*g));
    }
  }
  std::erase_if(groups_, [](const std::unique_ptr<Group>& g) { return g->members.empty(); });
  return any;
}

// Collects the input of the next run: the last token of every sequence, and prompts while there is
// room.
void Batcher::gather() {
  feeds_.clear();
  slots_.clear();
  int64_t decoding = 0;
  for (const auto& g : groups_)
    if (g->read == g->prompt_length()) decoding += static_cast<int64_t>(g->members.size());
  int64_t room = model_.most_tokens() - decoding;
  for (const auto& g : groups_) {
    if (scores_prompt(*g)) continue;
    if (g->read == g->prompt_length()) {
      slots_.push_back({g.get(), feeds_.size(), g->members.size()});
      for (size_t m = 0; m < g->members.size(); ++m) {
        const std::vector<int32_t>& tokens =
            g->beams ? g->beams->beams()[m].tokens : g->members[m].tokens;
        feeds_.push_back({&g->members[m].cache, std::span(tokens).last(1)});
      }
      continue;
    }
    int64_t count = g->prompt_length() - g->read;
    // The decoder's first tokens are read as a whole.
    if (g->needs.sources == 0) count = std::min(count, room);
    if (count <= 0) continue;
    room -= count;
    slots_.push_back({g.get(), feeds_.size(), 1, true, g->read + count == g->prompt_length()});
    feeds_.push_back({&g->members[0].cache,
                      std::span<const int32_t>(g->request.prompt.tokens)
                          .subspan(static_cast<size_t>(g->read), static_cast<size_t>(count))});
    g->read += count;
  }
}

bool Batcher::step() {
  admit();
  const bool scored = score_prompts();
  if (!model_.check().ok()) {
    fail_all();
    return true;
  }
  gather();
  if (feeds_.empty()) return scored;
  const bool reads =
      std::any_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.reads; });
  const double start = system_clock().seconds();
  const float* logits = model_.run(feeds_).data();
  (reads ? times_.prefill : times_.decode) += system_clock().seconds() - start;
  if (!model_.check().ok()) {
    fail_all();
    return true;
  }
  prepare(logits);
  for (const Slot& s : slots_)
    if (!s.reads || s.last) advance(s, logits + static_cast<int64_t>(s.row) * model_.vocab());
  std::erase_if(groups_, [](const std::unique_ptr<Group>& g) { return g->members.empty(); });
  return true;
}

// Runs the work on all scores of a row that needs no state, for all rows at once. Beams compare log
// probabilities: either the norm of the logits or, if rules change them or draws need all of them,
// the log probabilities themselves in scores_.
void Batcher::prepare(const float* logits) {
  const auto V = static_cast<size_t>(model_.vocab());
  for (const Slot& slot : slots_)
    for (size_t i = slot.row; i < slot.row + slot.rows; ++i)
      kinds_[i] = slot.reads && !slot.last ? RowKind::none : slot.group->recipe->kind;
  const auto work = [&](int64_t begin, int64_t end, int) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const std::span<const float> row(logits + i * V, V);
      if (kinds_[i] == RowKind::greedy) best_[i] = argmax(row);
      if (kinds_[i] < RowKind::beams) continue;
      norms_[i] = log_norm(row);
      if (kinds_[i] == RowKind::beams) continue;
      for (size_t t = 0; t < V; ++t) scores_[i * V + t] = norms_[i](row[t]);
      norms_[i] = {};
    }
  };
  pool_.parallel_for(static_cast<int64_t>(feeds_.size()), work);
}

// Logits of the group's sequences; after a prompt all share the logits of its last token.
void Batcher::advance(const Slot& slot, const float* logits) {
  Group& g = *slot.group;
  // A value that is not finite makes all logits of its row NaN, by the norm in front of them.
  for (size_t r = 0; r < slot.rows; ++r)
    if (!std::isfinite(logits[static_cast<int64_t>(r) * model_.vocab()]))
      return fail(g, not_finite(g));
  for (size_t m = 1; slot.reads && m < g.members.size(); ++m)
    g.members[m].cache = model_.fork(g.members[0].cache);
  if (!(g.beams ? advance_beams(g, slot, logits) : advance_sequences(g, slot, logits))) return;
  if (g.members.empty()) end(g);
}

// Forbids in `scores` the tokens that do not continue a text of the grammar, which takes precedence
// over all rules: if these leave none, the scores are `norm` of the logits. False: there is none, or
// the search was given up.
bool Batcher::keep_allowed(Recipe& recipe, const TokenMasks::Place& place, std::span<float> scores,
                           std::span<const float> logits, LogNorm norm) {
  const std::span<const uint64_t> bits = recipe.masks->allowed(place);
  if (bits.empty()) return false;
  const auto forbid_others = [&] {
    for (size_t w = 0; w < bits.size(); ++w) {
      if (bits[w] == ~uint64_t{0}) continue;  // most words, within a string
      for (size_t t = w * 64; t < std::min(scores.size(), w * 64 + 64); ++t)
        if ((bits[w] >> t % 64 & 1) == 0) scores[t] = -INFINITY;
    }
  };
  forbid_others();
  if (largest(scores) > -INFINITY) return true;
  for (size_t t = 0; t < scores.size(); ++t) scores[t] = norm(logits[t]);
  forbid_others();
  return true;
}

// The next token of a sequence by its logits, row `at` of the run; none: no token fits.
std::optional<int32_t> Batcher::choose(Group& g, size_t member, std::span<const float> logits,
                                       size_t at) {
  Recipe& recipe = *g.recipe;
  Group::Member& s = g.members[member];
  std::span<const float> row = logits;
  if (!recipe.rules.none() || recipe.masks) {
    std::copy(row.begin(), row.end(), row_.begin());
    recipe.rules.apply(row_, s.tokens, g.prompt_length(), g.needs.tokens, g.source());
    if (recipe.masks && !keep_allowed(recipe, s.place, row_, logits, {})) return std::nullopt;
    row = row_;
  }
  int32_t token;
  if (recipe.config->do_sample) {
    std::span<const Candidate> candidates = recipe.rules.warp(row);
    token = candidates.empty() ? argmax(row) : draw(candidates, s.random.next_uniform());
  } else {
    token = recipe.kind == RowKind::greedy ? best_[at] : argmax(row);
  }
  const auto& ends = recipe.config->eos_token_id;
  const bool is_end = std::find(ends.begin(), ends.end(), token) != ends.end();
  if (recipe.masks && !is_end && !recipe.masks->advance(s.place, token)) return std::nullopt;
  return token;
}

// False: the group has failed.
bool Batcher::advance_sequences(Group& g, const Slot& slot, const float* logits) {
  const auto V = static_cast<size_t>(model_.vocab());
  Recipe& recipe = *g.recipe;
  const std::optional<int64_t>& top = recipe.config->top_logprobs;
  size_t kept = 0;
  for (size_t m = 0; m < g.members.size(); ++m) {
    Group::Member& s = g.members[m];
    const size_t at = slot.reads ? 0 : m;
    const std::span<const float> row(logits + at * V, V);
    const std::optional<int32_t> token = choose(g, m, row, slot.row + at);
    if (!token) {
      fail(g, no_token_fits());
      return false;
    }
    s.tokens.push_back(*token);
    ++times_.new_tokens;
    if (top) s.logprobs.push_back(logprobs_of(row, *token, *top));
    if (g.request.token) g.request.token(s.sequence, *token, top ? &s.logprobs.back() : nullptr);
    const bool ended = recipe.ends(s.tokens) || (recipe.masks && Matcher::over(s.place));
    if (ended || static_cast<int64_t>(s.tokens.size()) >= g.needs.tokens) {
      model_.drop(s.cache);
      g.done.push_back({g.request.number,
                        s.sequence,
                        {s.tokens.begin() + g.prompt_length(), s.tokens.end()},
                        0,
                        ended,
                        std::move(s.logprobs)});
    } else {
      if (kept != m) g.members[kept] = std::move(s);
      ++kept;
    }
  }
  g.members.erase(g.members.begin() + static_cast<std::ptrdiff_t>(kept), g.members.end());
  return true;
}

// Whether a beam with one more token is a whole text.
bool Batcher::beam_ends(const Group& g, size_t beam, std::span<const int32_t> tokens) {
  Recipe& recipe = *g.recipe;
  if (recipe.ends(tokens)) return true;
  if (!recipe.masks) return false;
  TokenMasks::Place place = g.members[beam].place;
  return recipe.masks->advance(place, tokens.back()) && Matcher::over(place);
}

// The scores of a beam's next token, row `row` of the run, after the rules.
std::span<const float> Batcher::beam_scores(Group& g, size_t beam, size_t row,
                                            std::span<const float> logits) {
  Recipe& recipe = *g.recipe;
  const std::span<float> own = std::span(scores_).subspan(row * logits.size(), logits.size());
  recipe.rules.apply(own, g.beams->beams()[beam].tokens, g.prompt_length(), g.needs.tokens,
                     g.source());
  if (recipe.masks && !keep_allowed(recipe, g.members[beam].place, own, logits, log_norm(logits))) {
    std::fill(own.begin(), own.end(), -INFINITY);
    return own;
  }
  if (recipe.config->renormalize_logits && !recipe.config->do_sample) norms_[row] = log_norm(own);
  return own;
}

// Beams take over their parents' pages and places; the old lists go once all have taken what they
// need.
void Batcher::follow_parents(Group& g) {
  const std::vector<BeamSearch::Beam>& beams = g.beams->beams();
  caches_.clear();
  for (const BeamSearch::Beam& b : beams) caches_.push_back(model_.fork(g.members[b.parent].cache));
  for (size_t m = 0; m < g.members.size(); ++m) {
    model_.drop(g.members[m].cache);
    g.members[m].cache = std::move(caches_[m]);
  }
  if (!g.recipe->masks) return;
  std::vector<TokenMasks::Place> places;
  for (const BeamSearch::Beam& b : beams) {
    places.push_back(g.members[b.parent].place);
    if (!g.recipe->masks->advance(places.back(), b.tokens.back())) places.back().clear();
  }
  for (size_t m = 0; m < g.members.size(); ++m) g.members[m].place = std::move(places[m]);
}

// False: the group has failed.
bool Batcher::advance_beams(Group& g, const Slot& slot, const float* logits) {
  const auto V = static_cast<size_t>(model_.vocab());
  rows_.clear();
  for (size_t m = 0; m < g.members.size(); ++m) {
    if (slot.reads && m > 0) {
      rows_.push_back(rows_[0]);
      continue;
    }
    const size_t row = slot.row + m;
    const std::span<const float> own(logits + m * V, V);
    const bool whole = g.recipe->kind == RowKind::whole_beams;
    const std::span<const float> scores = whole ? beam_scores(g, m, row, own) : own;
    rows_.push_back({scores, norms_[row], own});
  }
  if (!g.beams->step(rows_, g.recipe->rules)) {
    fail(g, no_token_fits());
    return false;
  }
  ++times_.new_tokens;
  if (!g.beams->done()) {
    follow_parents(g);
    return true;
  }
  for (const BeamSearch::Hypothesis& h : g.beams->results())
    g.done.push_back({g.request.number,
                      g.done.size(),
                      {h.tokens.begin() + g.prompt_length(), h.tokens.end()},
                      static_cast<double>(h.score),
                      h.ended,
                      g.beams->logprobs(h)});
  for (Group::Member& m : g.members) model_.drop(m.cache);
  g.members.clear();
  return true;
}

}  // namespace hone

#include "learn/generate/beams.h"

#include <algorithm>
#include <cmath>

namespace hone {
namespace {

constexpr size_t kBlock = 128;
constexpr float kOut = -1e9f;  // Transformers' "practically impossible", which adds up

}  // namespace

BeamSearch::BeamSearch(const GenerationConfig& config, std::span<const int32_t> prompt, int64_t end,
                       Stops stops, PhiloxStream random)
    : config_(config),
      prompt_(static_cast<int64_t>(prompt.size())),
      end_(end),
      stops_(std::move(stops)),
      random_(random),
      width_(static_cast<size_t>(config.num_beams)),
      keep_(std::max<size_t>(2, 1 + config.eos_token_id.size()) * width_) {
  // All beams begin alike; only the first counts, or they would all choose the same tokens.
  for (size_t i = 0; i < width_; ++i) {
    beams_.push_back({{prompt.begin(), prompt.end()}, i == 0 ? 0 : kOut, 0});
    finished_.push_back({{prompt.begin(), prompt.end()}});
  }
}

void BeamSearch::best_continuations(std::span<const Row> rows) {
  auto better = [](const Continuation& a, const Continuation& b) {
    return a.score > b.score ||
           (a.score == b.score && (a.beam < b.beam || (a.beam == b.beam && a.token < b.token)));
  };
  auto& heap = continuations_;  // the worst one first
  for (size_t beam = 0; beam < width_; ++beam) {
    const float so_far = beams_[beam].score;
    const std::span<const float> row = rows[beam].scores;
    // Rounds in the same direction for all, so the largest element has the largest score.
    const auto score_of = [&](float x) { return rows[beam].norm(x) + so_far; };
    for (size_t t = 0; t < row.size(); ++t) {
      // Most of a vocabulary is out of reach and skipped by the block.
      if (t % kBlock == 0)
        while (heap.size() == keep_ && t + kBlock <= row.size() &&
               !(score_of(largest(row.subspan(t, kBlock))) > heap.front().score))
          t += kBlock;
      if (t == row.size()) break;
      const float score = score_of(row[t]);
      if (heap.size() == keep_ && !(score > heap.front().score)) continue;
      if (heap.size() == keep_) {
        std::pop_heap(heap.begin(), heap.end(), better);
        heap.pop_back();
      }
      heap.push_back({score, beam, static_cast<int32_t>(t)});
      std::push_heap(heap.begin(), heap.end(), better);
    }
  }
  std::sort_heap(heap.begin(), heap.end(), better);
}

// keep_ continuations drawn one after another without putting back, by softmax(score): the largest
// values of score + Gumbel noise, in falling order (Efraimidis and Spirakis 2006).
void BeamSearch::sampled_continuations(std::span<const Row> rows, ScoreRules& rules) {
  std::vector<std::pair<double, Continuation>> drawn;
  for (size_t beam = 0; beam < width_; ++beam)
    for (const Candidate& c : rules.warp(rows[beam].scores)) {
      const float score = c.score + beams_[beam].score;
      const double noise = -std::log(-std::log(std::max(random_.next_uniform(), 1e-300)));
      drawn.push_back({static_cast<double>(score) + noise, {score, beam, c.token}});
    }
  const size_t n = std::min(keep_, drawn.size());
  std::partial_sort(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(n), drawn.end(),
                    [](auto& a, auto& b) { return a.first > b.first; });
  for (size_t i = 0; i < n; ++i) continuations_.push_back(drawn[i].second);
}

float BeamSearch::worst_finished() const {
  float worst = finished_[0].score;
  for (const Hypothesis& h : finished_) {
    if (!h.finished) return kOut;
    worst = std::min(worst, h.score);
  }
  return worst;
}

// Keeps the log probabilities of a token that continues or ends a text; -1: none are asked.
int32_t BeamSearch::note(Continuation& c, std::span<const Row> rows) {
  if (!config_.top_logprobs || c.noted >= 0) return c.noted;
  notes_.push_back(
      {beams_[c.beam].noted, logprobs_of(rows[c.beam].logits, c.token, *config_.top_logprobs)});
  return c.noted = static_cast<int32_t>(notes_.size()) - 1;
}

std::vector<TokenLogprobs> BeamSearch::logprobs(const Hypothesis& h) const {
  std::vector<TokenLogprobs> out;
  for (int32_t at = h.noted; at >= 0; at = notes_[static_cast<size_t>(at)].before)
    out.push_back(notes_[static_cast<size_t>(at)].token);
  std::reverse(out.begin(), out.end());
  return out;
}

// Only the first width_ continuations may finish; the others are kept so that enough continue.
void BeamSearch::update_finished(int64_t length, std::span<const Row> rows) {
  const bool full = std::all_of(finished_.begin(), finished_.end(),
                                [](const Hypothesis& h) { return h.finished; });
  if (!can_improve_ || (full && config_.early_stopping == EarlyStopping::yes)) return;
  const auto divisor =
      static_cast<float>(std::pow(static_cast<double>(length - prompt_), config_.length_penalty));
  for (size_t i = 0; i < std::min(width_, continuations_.size()); ++i) {
    Continuation& c = continuations_[i];
    if (!c.stops) continue;
    Hypothesis h{beams_[c.beam].tokens, c.score / divisor, true, c.ended};
    h.tokens.push_back(c.token);
    auto at = std::find_if(finished_.begin(), finished_.end(),
                           [&](const Hypothesis& f) { return h.score > f.score; });
    if (at == finished_.end()) continue;
    h.noted = note(c, rows);
    finished_.insert(at, std::move(h));
    finished_.pop_back();
  }
}

bool BeamSearch::step(std::span<const Row> rows, ScoreRules& rules) {
  continuations_.clear();
  if (config_.do_sample)
    sampled_continuations(rows, rules);
  else
    best_continuations(rows);
  // A grammar may leave fewer texts than beams: forbidden tokens, and beams that only fill the width,
  // do not take part.
  if (config_.grammar)
    std::erase_if(continuations_, [](const Continuation& c) { return c.score < kOut / 2; });
  if (continuations_.empty()) {
    done_ = true;
    return finished_[0].finished;
  }
  const int64_t length = static_cast<int64_t>(beams_[0].tokens.size()) + 1;
  bool all_stop = true;
  for (Continuation& c : continuations_) {
    std::vector<int32_t>& tokens = beams_[c.beam].tokens;
    tokens.push_back(c.token);
    c.ended = stops_(c.beam, tokens);
    c.stops = length >= end_ || c.ended;
    tokens.pop_back();
    all_stop = all_stop && c.stops;
  }
  update_finished(length, rows);

  // The best that continue; one that stopped takes part only where there are too few others.
  auto running = [](const Continuation& c) { return c.score + (c.stops ? kOut : 0.0f); };
  std::stable_sort(
      continuations_.begin(), continuations_.end(),
      [&](const Continuation& a, const Continuation& b) { return running(a) > running(b); });
  next_.resize(width_);
  for (size_t i = 0; i < width_; ++i) {
    Continuation& c = continuations_[std::min(i, continuations_.size() - 1)];
    next_[i].tokens = beams_[c.beam].tokens;
    next_[i].tokens.push_back(c.token);
    next_[i].score = i < continuations_.size() ? running(c) : kOut;
    next_[i].parent = c.beam;
    next_[i].noted = note(c, rows);
  }
  std::swap(beams_, next_);

  // The score that the best running beam could still reach: a heuristic where length_penalty > 0.
  const int64_t hoped =
      config_.early_stopping == EarlyStopping::never && config_.length_penalty > 0 ? end_ : length;
  const auto divisor =
      static_cast<float>(std::pow(static_cast<double>(hoped - prompt_), config_.length_penalty));
  can_improve_ = can_improve_ && beams_[0].score / divisor > worst_finished();
  const bool full = std::all_of(finished_.begin(), finished_.end(),
                                [](const Hypothesis& h) { return h.finished; });
  done_ = !can_improve_ || all_stop || (full && config_.early_stopping == EarlyStopping::yes);
  return true;
}

std::vector<BeamSearch::Hypothesis> BeamSearch::results() const {
  std::vector<Hypothesis> best(finished_.begin(), finished_.begin() + config_.num_return_sequences);
  if (config_.grammar)
    for (Hypothesis& h : best)
      if (!h.finished) h = best[0];
  return best;
}

}  // namespace hone

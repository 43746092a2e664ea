#include "learn/generate/scores.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace hone {
namespace {

constexpr float kNever = -INFINITY;
constexpr size_t kLanes = 16;

// exp(x) for x <= 0 within two units of the last place, in a form that compilers vectorise: x = n
// ln 2
// + r, |r| <= ln 2 / 2, a Taylor polynomial in r, and n put into the exponent.
inline float exp_below(float x) {
  x = x < -87.0f ? -87.0f : x;
  const float shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23 rounds to a whole number
  const float n = shifted - 12582912.0f;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const int32_t bits = (static_cast<int32_t>(n) + 127) << 23;
  float scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return p * scale;
}

double sum_exp(std::span<const float> x, float most) {
  double sum = 0;
  size_t i = 0;
  for (; i + 1024 <= x.size(); i += 1024) {  // blocks keep the f32 sums short
    float lane[kLanes] = {};
    for (size_t k = i; k < i + 1024; k += kLanes)
      for (size_t j = 0; j < kLanes; ++j) lane[j] += exp_below(x[k + j] - most);
    for (float v : lane) sum += static_cast<double>(v);
  }
  for (; i < x.size(); ++i) sum += static_cast<double>(exp_below(x[i] - most));
  return sum;
}

bool better(const Candidate& a, const Candidate& b) {
  return a.score > b.score || (a.score == b.score && a.token < b.token);
}

}  // namespace

float largest(std::span<const float> x) {
  float lane[kLanes];
  std::fill(lane, lane + kLanes, kNever);
  size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes)
    for (size_t j = 0; j < kLanes; ++j) lane[j] = lane[j] < x[i + j] ? x[i + j] : lane[j];
  float most = *std::max_element(lane, lane + kLanes);
  for (; i < x.size(); ++i) most = std::max(most, x[i]);
  return most;
}

int32_t argmax(std::span<const float> x) {
  const float most = largest(x);
  const auto at = std::find(x.begin(), x.end(), most);
  return at == x.end() ? 0 : static_cast<int32_t>(at - x.begin());  // only NaN: the first token
}

LogNorm log_norm(std::span<const float> x) {
  const float most = largest(x);
  return {most, static_cast<float>(std::log(sum_exp(x, most)))};
}

TokenLogprobs logprobs_of(std::span<const float> logits, int32_t token, int64_t top) {
  const LogNorm norm = log_norm(logits);
  TokenLogprobs out{token, norm(logits[static_cast<size_t>(token)])};
  const auto count = std::min(static_cast<size_t>(top), logits.size());
  if (count == 0) return out;
  // A heap with the worst of the best in front.
  for (size_t i = 0; i < logits.size(); ++i) {
    const Candidate c{logits[i], static_cast<int32_t>(i)};
    if (out.top.size() == count) {
      if (!better(c, out.top.front())) continue;
      std::pop_heap(out.top.begin(), out.top.end(), better);
      out.top.pop_back();
    }
    out.top.push_back(c);
    std::push_heap(out.top.begin(), out.top.end(), better);
  }
  std::sort_heap(out.top.begin(), out.top.end(), better);
  for (Candidate& c : out.top) c.score = norm(c.score);
  return out;
}

ScoreRules::ScoreRules(const GenerationConfig& c) : config_(c), keep_(1) {
  for (const auto& word : c.bad_words_ids)
    if (word.size() > 1 ||
        std::find(c.eos_token_id.begin(), c.eos_token_id.end(), word[0]) == c.eos_token_id.end())
      bad_words_.push_back(word);
  none_ = c.repetition_penalty == 1 && c.no_repeat_ngram_size == 0 &&
          c.encoder_no_repeat_ngram_size == 0 && bad_words_.empty() && c.min_length == 0 &&
          !c.min_new_tokens && !c.forced_bos_token_id && c.forced_eos_token_id.empty() &&
          c.suppress_tokens.empty() && c.begin_suppress_tokens.empty() && c.presence_penalty == 0 &&
          c.frequency_penalty == 0 && c.logit_bias.empty();
  // Beams need a token that does not end the sequence.
  if (c.num_beams > 1)
    keep_ = c.eos_token_id.empty() ? 2 : static_cast<int64_t>(c.eos_token_id.size()) + 1;
}

void ScoreRules::penalize(std::span<float> scores, std::span<const int32_t> tokens) {
  seen_.resize(scores.size(), 0);
  const auto penalty = static_cast<float>(config_.repetition_penalty);
  for (int32_t t : tokens) {
    const auto i = static_cast<size_t>(t);
    if (i >= scores.size() || seen_[i]) continue;
    seen_[i] = 1;
    scores[i] = scores[i] < 0 ? scores[i] * penalty : scores[i] / penalty;
  }
  for (int32_t t : tokens)
    if (static_cast<size_t>(t) < seen_.size()) seen_[static_cast<size_t>(t)] = 0;
}

void ScoreRules::penalize_counts(std::span<float> scores, std::span<const int32_t> written) {
  seen_.resize(scores.size(), 0);
  const auto once = static_cast<float>(config_.presence_penalty),
             each = static_cast<float>(config_.frequency_penalty);
  for (const int32_t t : written) {
    const auto i = static_cast<size_t>(t);
    if (i >= scores.size()) continue;
    scores[i] -= each + (seen_[i] != 0 ? 0 : once);
    seen_[i] = 1;
  }
  for (const int32_t t : written)
    if (static_cast<size_t>(t) < seen_.size()) seen_[static_cast<size_t>(t)] = 0;
}

void ScoreRules::forbid_ngrams(std::span<float> scores, std::span<const int32_t> tokens,
                               std::span<const int32_t> known, int64_t size) {
  const auto n = static_cast<size_t>(size);
  if (tokens.size() + 1 < n || known.size() < n) return;
  const auto begun = tokens.last(n - 1);
  for (size_t i = 0; i + n <= known.size(); ++i)
    if (std::equal(begun.begin(), begun.end(), known.begin() + static_cast<std::ptrdiff_t>(i))) {
      const auto t = static_cast<size_t>(known[i + n - 1]);
      if (t < scores.size()) scores[t] = kNever;
    }
}

void ScoreRules::apply(std::span<float> scores, std::span<const int32_t> tokens, int64_t prompt,
                       int64_t end, std::span<const int32_t> source) {
  if (none_) return;
  const GenerationConfig& c = config_;
  const auto length = static_cast<int64_t>(tokens.size());
  auto forbid = [&](const std::vector<int32_t>& ids) {
    for (int32_t id : ids)
      if (static_cast<size_t>(id) < scores.size()) scores[static_cast<size_t>(id)] = kNever;
  };
  auto force = [&](const std::vector<int32_t>& ids) {
    std::fill(scores.begin(), scores.end(), kNever);
    for (int32_t id : ids) scores[static_cast<size_t>(id)] = 0;
  };
  if (c.repetition_penalty != 1) penalize(scores, tokens);
  if (c.presence_penalty != 0 || c.frequency_penalty != 0)
    penalize_counts(scores, tokens.subspan(static_cast<size_t>(prompt)));
  for (const auto& [id, bias] : c.logit_bias) scores[static_cast<size_t>(id)] += bias;
  if (c.no_repeat_ngram_size > 0) forbid_ngrams(scores, tokens, tokens, c.no_repeat_ngram_size);
  if (c.encoder_no_repeat_ngram_size > 0)
    forbid_ngrams(scores, tokens, source, c.encoder_no_repeat_ngram_size);
  for (const auto& word : bad_words_) {
    const size_t before = word.size() - 1;
    if (before <= tokens.size() && std::equal(word.begin(), word.end() - 1,
                                              tokens.end() - static_cast<std::ptrdiff_t>(before)))
      scores[static_cast<size_t>(word.back())] = kNever;
  }
  // min_new_tokens takes the place of min_length.
  const int64_t least = c.min_new_tokens ? prompt + *c.min_new_tokens : c.min_length;
  if (length < least) forbid(c.eos_token_id);
  if (c.forced_bos_token_id && length == 1) force({*c.forced_bos_token_id});
  if (!c.forced_eos_token_id.empty() && length == end - 1) force(c.forced_eos_token_id);
  forbid(c.suppress_tokens);
  if (length == prompt) forbid(c.begin_suppress_tokens);
}

// Scores below the k-th largest are out; equal ones stay.
void ScoreRules::keep_top_k(std::span<const float> scores, int64_t k) {
  candidates_.clear();
  float least = kNever;
  if (k > 0 && k < static_cast<int64_t>(scores.size())) {
    heap_.assign(scores.begin(), scores.begin() + k);
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    for (size_t i = static_cast<size_t>(k); i < scores.size(); ++i) {
      if (!(scores[i] > heap_.front())) continue;
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.back() = scores[i];
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
    least = heap_.front();
  }
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] >= least && scores[i] > kNever)
      candidates_.push_back({scores[i], static_cast<int32_t>(i)});
}

// A token goes when those that are more probable hold top_p of the mass already. Only the head of
// the order is sorted, as far as it is needed.
void ScoreRules::keep_top_p() {
  auto& c = candidates_;
  const float most = std::max_element(c.begin(), c.end(), [](auto& a, auto& b) {
                       return a.score < b.score;
                     })->score;
  double all = 0;
  for (const Candidate& x : c) all += static_cast<double>(std::exp(x.score - most));
  double above = 0;
  size_t sorted = 0, kept = 0;
  for (; kept < c.size(); ++kept) {
    if (kept == sorted) {
      sorted = std::min(c.size(), std::max<size_t>(64, sorted * 4));
      std::partial_sort(c.begin() + static_cast<std::ptrdiff_t>(kept),
                        c.begin() + static_cast<std::ptrdiff_t>(sorted), c.end(), better);
    }
    if (static_cast<int64_t>(kept) >= keep_ && above >= config_.top_p * all) break;
    above += static_cast<double>(std::exp(c[kept].score - most));
  }
  c.resize(kept);
}

void ScoreRules::renormalize() {
  heap_.clear();
  for (const Candidate& x : candidates_) heap_.push_back(x.score);
  const LogNorm norm = log_norm(heap_);
  for (Candidate& x : candidates_) x.score = norm(x.score);
}

std::span<Candidate> ScoreRules::warp(std::span<const float> scores) {
  const GenerationConfig& c = config_;
  keep_top_k(scores,
             c.top_k == 0
                 ? 0
                 : std::max(c.top_k, keep_));  // before the temperature, which keeps the order
  const auto temperature = static_cast<float>(c.temperature);
  if (temperature != 1)
    for (Candidate& x : candidates_) x.score /= temperature;
  if (candidates_.empty()) return candidates_;
  if (c.top_p < 1) keep_top_p();
  if (c.min_p) {
    std::sort(candidates_.begin(), candidates_.end(), better);
    const double least = static_cast<double>(candidates_[0].score) + std::log(*c.min_p);
    size_t kept = 0;
    while (kept < candidates_.size() && (static_cast<int64_t>(kept) < keep_ ||
                                         static_cast<double>(candidates_[kept].score) >= least))
      ++kept;
    candidates_.resize(kept);
  }
  if (c.renormalize_logits) renormalize();
  return candidates_;
}

}  // namespace hone

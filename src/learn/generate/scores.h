// Turns the model's logits into scores for choosing tokens: Transformers' logits processors and
// warpers, in its order, in f32.
#pragma once

#include <span>

#include "learn/generate/config.h"

namespace hone {

// A possible token and its score.
struct Candidate {
  float score;
  int32_t token;
};

// NaN is never the largest; -inf if there is nothing else.
float largest(std::span<const float> x);
// Index of the largest value, the first of equal ones.
int32_t argmax(std::span<const float> x);
// Turns scores into log probabilities: x -> (x - most) - log_sum. The default changes nothing.
struct LogNorm {
  float most = 0, log_sum = 0;
  float operator()(float x) const { return (x - most) - log_sum; }
};
// most + log_sum = log sum exp(x), computed around the largest value.
LogNorm log_norm(std::span<const float> x);

// A token of a text and its log probability.
struct TokenLogprobs {
  int32_t token = 0;
  float logprob = 0;
  std::vector<Candidate> top = {};  // the most probable tokens in its place, best first
};
TokenLogprobs logprobs_of(std::span<const float> logits, int32_t token, int64_t top);

class ScoreRules {
 public:
  // The rules of `config`, in Transformers' order. `config` must outlive this object.
  explicit ScoreRules(const GenerationConfig& config);

  // True if the rules change no score.
  bool none() const { return none_; }
  // Applies the processors to one row of scores of the token after `tokens` (prompt and new ones).
  // `prompt` is the length of the prompt, `end` the length at which generation stops
  // (forced_eos_token_id), `source` the encoder's input, or the prompt.
  void apply(std::span<float> scores, std::span<const int32_t> tokens, int64_t prompt, int64_t end,
             std::span<const int32_t> source = {});
  // Applies the warpers of sampling and returns the remaining candidates, in no order. The result
  // lives until the next call.
  std::span<Candidate> warp(std::span<const float> scores);

 private:
  void penalize(std::span<float> scores, std::span<const int32_t> tokens);
  // presence_penalty and frequency_penalty, by OpenAI's formula.
  void penalize_counts(std::span<float> scores, std::span<const int32_t> written);
  // Forbids tokens that would complete an n-gram of `known`.
  static void forbid_ngrams(std::span<float> scores, std::span<const int32_t> tokens,
                            std::span<const int32_t> known, int64_t size);
  void keep_top_k(std::span<const float> scores, int64_t k);
  void keep_top_p();
  void renormalize();  // scores of the candidates to log probabilities

  const GenerationConfig& config_;
  bool none_;
  int64_t keep_;  // smallest number of tokens that warpers leave
  std::vector<std::vector<int32_t>> bad_words_;
  std::vector<Candidate> candidates_;
  std::vector<float> heap_;
  std::vector<uint8_t> seen_;
};

}  // namespace hone

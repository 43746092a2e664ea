// Turns a model's logits into the scores by which the next token is chosen. Does what Transformers' logits processors
// and warpers do, in the same order, in f32.
#pragma once

#include <span>

#include "learn/generate/config.h"

namespace hone {

// A possible token and its score.
struct Candidate {
  float score;
  int32_t token;
};

// The largest value that is not NaN; -inf if there is none.
float largest(std::span<const float> x);
// The index of the largest value, the first one of equal values; 0 if all are NaN.
int32_t argmax(std::span<const float> x);
// Turns a score into a log probability: x -> (x - most) - log_sum. The default values change nothing.
struct LogNorm {
  float most = 0, log_sum = 0;
  float operator()(float x) const { return (x - most) - log_sum; }
};
// The norm of a row of scores: most is the largest value, most + log_sum = log(sum of exp(x)).
LogNorm log_norm(std::span<const float> x);

// A token of a text and its log probability (natural logarithm).
struct TokenLogprobs {
  int32_t token = 0;
  float logprob = 0;
  // The most probable tokens in this place, the most probable first; their scores are log probabilities.
  std::vector<Candidate> top = {};
};
// The log probability of `token` and of the `top` most probable tokens, by the logits [V].
TokenLogprobs logprobs_of(std::span<const float> logits, int32_t token, int64_t top);

class ScoreRules {
 public:
  // The rules of `config`, which must outlive this object.
  explicit ScoreRules(const GenerationConfig& config);

  // True if apply() changes no score.
  bool none() const { return none_; }
  // Applies the processors, such as repetition_penalty, to the scores [V] of the token after `tokens`, which are the
  // prompt and the new tokens. `prompt`: the number of tokens of the prompt. `end`: the total length at which
  // generation stops (for forced_eos_token_id). `source`: the encoder's input, or the prompt if there is no encoder.
  // A forbidden token gets -inf.
  void apply(std::span<float> scores, std::span<const int32_t> tokens, int64_t prompt, int64_t end,
             std::span<const int32_t> source = {});
  // Applies the warpers of sampling: top_k, temperature, top_p, min_p, renormalize_logits. Returns the remaining
  // candidates with their scores, in no particular order. The result is valid until the next call.
  std::span<Candidate> warp(std::span<const float> scores);

 private:
  void penalize(std::span<float> scores, std::span<const int32_t> tokens);
  // presence_penalty and frequency_penalty, by OpenAI's formula.
  void penalize_counts(std::span<float> scores, std::span<const int32_t> written);
  // Forbids tokens that would complete an n-gram of `size` tokens that is in `known`.
  static void forbid_ngrams(std::span<float> scores, std::span<const int32_t> tokens,
                            std::span<const int32_t> known, int64_t size);
  void keep_top_k(std::span<const float> scores, int64_t k);
  void keep_top_p();
  void renormalize();  // turns the candidates' scores into log probabilities

  const GenerationConfig& config_;
  bool none_;
  int64_t keep_;  // the warpers leave at least this number of tokens
  std::vector<std::vector<int32_t>> bad_words_;
  std::vector<Candidate> candidates_;
  std::vector<float> heap_;
  std::vector<uint8_t> seen_;
};

}  // namespace hone

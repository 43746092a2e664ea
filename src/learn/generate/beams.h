// Beam search over one prompt, with the rules of Transformers 5.23: which hypotheses continue,
// which are finished with which score, and when none can improve. It knows tokens and scores, but
// no cache and no model.
#pragma once

#include <functional>
#include <span>

#include "base/core/philox.h"
#include "learn/generate/scores.h"

namespace hone {

class BeamSearch {
 public:
  struct Hypothesis {
    std::vector<int32_t> tokens;  // prompt and new tokens
    float score = -1e9f;          // sum of log probabilities / length^length_penalty
    bool finished = false;
  };
  struct Beam {
    std::vector<int32_t> tokens;
    float score = 0;    // sum of log probabilities
    size_t parent = 0;  // the beam of the previous step that it continues
  };

  // `stops` returns whether a sequence that ends in this token is at an end token or stop string.
  BeamSearch(const GenerationConfig& config, std::span<const int32_t> prompt, int64_t end,
             std::function<bool(std::span<const int32_t>)> stops, PhiloxStream random);

  const std::vector<Beam>& beams() const { return beams_; }
  bool done() const { return done_; }

  // f32[V] for a beam's next token, and the norm that makes them log probabilities after the
  // processors.
  struct Row {
    std::span<const float> scores;
    LogNorm norm = {};
  };
  // rows[i] belongs to beam i. Sampling takes rows whose norm changes nothing.
  void step(std::span<const Row> rows, ScoreRules& rules);

  // Best first, num_return_sequences of them.
  std::vector<Hypothesis> results() const;

 private:
  struct Continuation {
    float score;
    size_t beam;
    int32_t token;
    bool stops = false;
  };
  void best_continuations(std::span<const Row> rows);
  void sampled_continuations(std::span<const Row> rows, ScoreRules& rules);
  void update_finished(int64_t length);
  float worst_finished() const;

  const GenerationConfig& config_;
  int64_t prompt_, end_;
  std::function<bool(std::span<const int32_t>)> stops_;
  PhiloxStream random_;
  size_t width_, keep_;  // beams; continuations considered in each step
  std::vector<Beam> beams_, next_;
  std::vector<Hypothesis> finished_;  // width_ of them, best first
  std::vector<Continuation> continuations_;
  bool can_improve_ = true, done_ = false;
};

}  // namespace hone

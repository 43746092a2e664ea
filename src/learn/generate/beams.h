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
    bool ended = false;  // by `stops`, not by the length
    int32_t noted = -1;  // its last token in `notes_`
  };
  struct Beam {
    std::vector<int32_t> tokens;
    float score = 0;    // sum of log probabilities
    size_t parent = 0;  // the beam of the previous step that it continues
    int32_t noted = -1;
  };
  // Returns whether a beam with one more token, the last of `tokens`, is a whole text.
  using Stops = std::function<bool(size_t beam, std::span<const int32_t> tokens)>;

  BeamSearch(const GenerationConfig& config, std::span<const int32_t> prompt, int64_t end,
             Stops stops, PhiloxStream random);

  const std::vector<Beam>& beams() const { return beams_; }
  bool done() const { return done_; }

  // f32[V] for a beam's next token, the norm that makes them log probabilities after the
  // processors, and the model's logits before them.
  struct Row {
    std::span<const float> scores;
    LogNorm norm = {};
    std::span<const float> logits = {};
  };
  // rows[i] belongs to beam i. Sampling takes rows whose norm changes nothing. False: a grammar
  // forbids every token, by the score -inf, and no text is whole.
  bool step(std::span<const Row> rows, ScoreRules& rules);

  // Best first, num_return_sequences of them: the best one again if a grammar has fewer texts.
  std::vector<Hypothesis> results() const;
  // Log probabilities of its new tokens if config.top_logprobs asks for them.
  std::vector<TokenLogprobs> logprobs(const Hypothesis& h) const;

 private:
  struct Continuation {
    float score;
    size_t beam;
    int32_t token;
    bool stops = false, ended = false;
    int32_t noted = -1;
  };
  // A token that was chosen, and the one before it in the same text.
  struct Note {
    int32_t before;
    TokenLogprobs token;
  };
  void best_continuations(std::span<const Row> rows);
  void sampled_continuations(std::span<const Row> rows, ScoreRules& rules);
  void update_finished(int64_t length, std::span<const Row> rows);
  int32_t note(Continuation& c, std::span<const Row> rows);
  float worst_finished() const;

  const GenerationConfig& config_;
  int64_t prompt_, end_;
  Stops stops_;
  PhiloxStream random_;
  size_t width_, keep_;  // beams; continuations considered in each step
  std::vector<Beam> beams_, next_;
  std::vector<Hypothesis> finished_;  // width_ of them, best first
  std::vector<Continuation> continuations_;
  std::vector<Note> notes_;
  bool can_improve_ = true, done_ = false;
};

}  // namespace hone

// Beam search over one prompt, with the rules of Transformers 5.23. The rules decide which hypotheses continue, which
// are finished and with which score, and when the search ends. The class works on tokens and scores alone: the caller
// runs the model and keeps the model's cache (batcher.h).
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
    float score = -1e9f;          // sum of log probabilities / new tokens^length_penalty
    bool finished = false;        // false: this entry does not hold a result yet
    bool ended = false;           // true: by `stops`; false: by the maximum length
    int32_t noted = -1;           // index in notes_ of the note of the last token; -1: no notes
  };
  // A hypothesis that continues.
  struct Beam {
    std::vector<int32_t> tokens;  // prompt and new tokens
    float score = 0;              // sum of log probabilities of the new tokens
    size_t parent = 0;            // index of the beam of the previous step that this beam continues
    int32_t noted = -1;           // as Hypothesis::noted
  };
  // Whether the text ends with the last of `tokens`, which are the tokens of beam `beam` and one new token.
  using Stops = std::function<bool(size_t beam, std::span<const int32_t> tokens)>;

  // `end`: the length in tokens, prompt included, at which every hypothesis ends. `config` must outlive the search.
  BeamSearch(const GenerationConfig& config, std::span<const int32_t> prompt, int64_t end,
             Stops stops, PhiloxStream random);

  const std::vector<Beam>& beams() const { return beams_; }  // num_beams of them
  bool done() const { return done_; }                        // results() is final

  // The input of a step for one beam.
  struct Row {
    std::span<const float> scores;       // [V]: scores of the next token, after ScoreRules::apply
    LogNorm norm = {};                   // turns `scores` into log probabilities
    std::span<const float> logits = {};  // [V]: logits of the model, before the rules
  };
  // Continues all beams by one token. rows[i] belongs to beams()[i]. With do_sample, norm must be the default, which
  // changes nothing. False: a grammar forbids every token of every beam (score -inf), and no hypothesis is finished.
  bool step(std::span<const Row> rows, ScoreRules& rules);

  // num_return_sequences hypotheses, the best first. If a grammar permits fewer texts, the best is repeated.
  std::vector<Hypothesis> results() const;
  // The log probabilities of the new tokens of `h`; empty unless config.top_logprobs is set.
  std::vector<TokenLogprobs> logprobs(const Hypothesis& h) const;

 private:
  struct Continuation {
    float score;
    size_t beam;
    int32_t token;
    bool stops = false, ended = false;
    int32_t noted = -1;
  };
  // The log probabilities of a chosen token. `before`: the index in notes_ of the token before it in the same text;
  // -1: it is the first new token.
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
  // width_: number of beams. keep_: number of continuations considered in each step.
  size_t width_, keep_;
  std::vector<Beam> beams_, next_;
  std::vector<Hypothesis> finished_;  // width_ of them, best first
  std::vector<Continuation> continuations_;
  std::vector<Note> notes_;
  bool can_improve_ = true, done_ = false;
};

}  // namespace hone

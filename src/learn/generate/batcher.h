// Continuous batching: between two steps, new requests join the sequences that are decoded
// together, and finished ones leave (Yu et al., Orca, OSDI 2022).
//   Batcher batcher(model, tokenizer, pool, positions);
//   batcher.add({.prompt = a, .config = config, .done = ...});
//   while (batcher.step()) {}                        // one token for each sequence
// A request waits until the rows and pages of its worst case are free, so none is preempted;
// requests are admitted in order of arrival. A step reads at most as many prompt tokens as the
// largest program holds besides the decoding sequences, so a long prompt delays them little. No
// token depends on other requests. One thread uses a batcher; callbacks must not call it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "learn/generate/beams.h"
#include "learn/generate/cached_model.h"
#include "learn/generate/config.h"
#include "learn/generate/scores.h"
#include "learn/grammar/token_masks.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

struct Prompt {
  std::vector<int32_t> tokens;
  // Encoder-decoders: the encoder's input; `tokens` are the decoder's first tokens.
  std::vector<int32_t> source = {};
};

struct Generated {
  size_t prompt = 0;            // index
  size_t sequence = 0;          // of num_return_sequences
  std::vector<int32_t> tokens;  // new ones, including the end token
  double score = 0;             // beams: sum of log probabilities / length^length_penalty
  bool ended = false;           // by an end token, a stop string or its grammar, not by the length
  // Log probabilities of `tokens`, and of the prompt's tokens after the first (in the first sequence
  // only), if the config asks for them.
  std::vector<TokenLogprobs> logprobs = {}, prompt_logprobs = {};
};

class Batcher {
 public:
  using Ticket = uint64_t;
  struct Request {
    Prompt prompt;
    std::shared_ptr<const GenerationConfig> config;
    // Keys the random draws, with the seed and the index of the sequence. Errors and
    // Generated::prompt have it.
    size_t number = 0;
    // Tokens as they come, not for beams; `logprobs` is null unless the config asks for them.
    std::function<void(size_t sequence, int32_t token, const TokenLogprobs* logprobs)> token = {};
    // Best or first sequence first; H2505 if the logits are not finite, H2507 if no token of the
    // vocabulary continues a text of the grammar.
    std::function<void(Result<std::vector<Generated>>)> done = {};
  };

  // The tokenizer is needed for stop strings only and may be null. All must outlive the batcher.
  Batcher(CachedModel& model, const Tokenizer* tokenizer, ThreadPool& pool, int64_t positions);
  ~Batcher();

  // Adds a request. The caller has checked config, prompt and source (generate.h), and that the
  // limits of the model suffice (fits).
  Ticket add(Request request);
  // The largest need of a request: its rows, its longest sequence and source, its pages.
  static CacheLimits needs(const Prompt& prompt, const GenerationConfig& config, int64_t positions);
  bool fits(const Prompt& prompt, const GenerationConfig& config) const;
  // Cancels a request without calling `done`. False: it is already done.
  bool cancel(Ticket ticket);
  void clear();  // cancels all

  // Admits requests that fit and generates one token for every sequence. False: there was nothing
  // to do.
  bool step();

  size_t waiting() const { return waiting_.size(); }
  size_t running() const { return groups_.size(); }
  int64_t used_rows() const { return used_rows_; }
  int64_t used_pages() const { return used_pages_; }  // reserved
  // Seconds and tokens so far. A step that reads a prompt counts as prefill.
  struct Times {
    double prefill = 0, decode = 0;
    int64_t prompt_tokens = 0, new_tokens = 0;
  };
  const Times& times() const { return times_; }

 private:
  // The computation on a row of logits that is done for all rows at once.
  enum class RowKind : uint8_t { none, greedy, beams, whole_beams };
  struct Recipe;
  struct Group;
  struct Slot {  // the feeds of a group in one step
    Group* group;
    size_t row, rows;
    bool reads = false, last = false;  // reads a part of the prompt; the last part
  };
  std::shared_ptr<Recipe> recipe_of(const std::shared_ptr<const GenerationConfig>& config);
  void admit();
  bool score_prompts();
  static bool scores_prompt(const Group& g);
  void gather();
  void prepare(const float* logits);
  void advance(const Slot& slot, const float* logits);
  bool advance_sequences(Group& g, const Slot& slot, const float* logits);
  std::optional<int32_t> choose(Group& g, size_t member, std::span<const float> logits, size_t at);
  static bool keep_allowed(Recipe& recipe, const TokenMasks::Place& place, std::span<float> scores,
                           std::span<const float> logits, LogNorm norm);
  bool advance_beams(Group& g, const Slot& slot, const float* logits);
  std::span<const float> beam_scores(Group& g, size_t beam, size_t row,
                                     std::span<const float> logits);
  static bool beam_ends(const Group& g, size_t beam, std::span<const int32_t> tokens);
  void follow_parents(Group& g);
  void end(Group& g);
  void fail(Group& g, Error why);
  static Error not_finite(const Group& g);
  static Error no_token_fits();
  void fail_all();
  void release(Group& g);

  CachedModel& model_;
  const Tokenizer* tokenizer_;
  ThreadPool& pool_;
  int64_t positions_;
  std::deque<std::unique_ptr<Group>> waiting_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::shared_ptr<Recipe> recipe_;  // requests with equal configs share the last one
  Ticket next_ = 1;
  int64_t used_rows_ = 0, used_pages_ = 0, used_sources_ = 0, used_source_pages_ = 0;
  Times times_;
  std::vector<Feed> feeds_;
  std::vector<Slot> slots_;
  std::vector<float> row_;      // [V]: one row after the rules
  std::vector<float> scores_;   // [rows, V]: for beams that need every score
  std::vector<LogNorm> norms_;  // [rows]: for beams
  std::vector<int32_t> best_;   // [rows]: for greedy sequences without rules
  std::vector<RowKind> kinds_;  // [rows]
  std::vector<BeamSearch::Row> rows_;
  std::vector<CacheEntry> caches_;
};

}  // namespace hone

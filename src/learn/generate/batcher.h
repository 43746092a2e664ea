// Continuous batching: between two steps, new requests join the sequences that are decoded
// together, and finished ones leave (Yu et al., Orca, OSDI 2022).
//   Batcher batcher(model, tokenizer, pool, positions);
//   batcher.add({.prompt = a, .config = config, .done = ...});
//   while (batcher.step()) {}                        // one token for each sequence
// A request starts when the cache rows and pages of its worst case (its maximum length) are free, so a running
// request is never preempted. Requests start in the order of arrival. A step generates one token for each sequence
// whose prompt has been read. The same step also reads prompt tokens of other sequences, as many as still fit into the
// largest program (CachedModel::most_tokens). So a long prompt is read in several steps and delays other requests
// little. The tokens of a request do not depend on other requests. Only one thread may use a batcher; callbacks must
// not call it.
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
  std::vector<int32_t> tokens;  // the ids that generation continues
  // For an encoder-decoder: the ids that the encoder reads; `tokens` are then the first tokens of the decoder.
  std::vector<int32_t> source = {};
};

// One generated sequence.
struct Generated {
  size_t prompt = 0;            // Request::number
  size_t sequence = 0;          // 0 to num_return_sequences - 1
  std::vector<int32_t> tokens;  // the new tokens, including the end token
  double score = 0;    // beam search: sum of log probabilities / new tokens^length_penalty; else 0
  bool ended = false;  // true: by an end token, stop string or grammar; false: by maximum length
  // logprobs: one entry for each element of `tokens`, if the config has top_logprobs; else empty.
  // prompt_logprobs: one entry for each token of the prompt after the first, in sequence 0 only, if the config has
  // prompt_logprobs; else empty.
  std::vector<TokenLogprobs> logprobs = {}, prompt_logprobs = {};
};

class Batcher {
 public:
  using Ticket = uint64_t;
  struct Request {
    Prompt prompt;
    std::shared_ptr<const GenerationConfig> config;
    // The caller's number of the request, from 0. Random draws depend on this number, on config->seed and on the index
    // of the sequence. The number becomes Generated::prompt; messages show it plus 1.
    size_t number = 0;
    // Called in step() for each new token, when it is chosen; never with beam search. `logprobs` is null unless the
    // config has top_logprobs.
    std::function<void(size_t sequence, int32_t token, const TokenLogprobs* logprobs)> token = {};
    // Called once, in step(), when all sequences of the request are done; not called after cancel() or clear(). The
    // sequences are in the order of their index, or, with beam search, the best first. Errors: H2505 the logits are not
    // finite; H2507 the grammar permits no token of the vocabulary; the error of a device that failed.
    std::function<void(Result<std::vector<Generated>>)> done = {};
  };

  // `tokenizer` is needed only for stop strings and may be null. `positions`: the maximum length of a sequence in the
  // model. `model`, `tokenizer` and `pool` must outlive the batcher.
  Batcher(CachedModel& model, const Tokenizer* tokenizer, ThreadPool& pool, int64_t positions);
  ~Batcher();

  // Adds a request to the end of the queue. The caller must have checked the config, the prompt and the source with the
  // functions of generate.h, and must have checked that fits() is true.
  Ticket add(Request request);
  // The cache that a request needs in the worst case: the rows, the tokens of the longest sequence, and the lengths of
  // prompt and source.
  static CacheLimits needs(const Prompt& prompt, const GenerationConfig& config, int64_t positions);
  // Whether the needs() of a request are within the limits of the whole cache. If not, the request can never start.
  bool fits(const Prompt& prompt, const GenerationConfig& config) const;
  // Cancels a request without calling `done`. False: the request is already done.
  bool cancel(Ticket ticket);
  void clear();  // cancels all requests

  // Starts waiting requests for which enough cache is free. Then generates one token for every sequence whose prompt
  // has been read, and reads further tokens of the other prompts. False: there was nothing to do.
  bool step();

  size_t waiting() const { return waiting_.size(); }  // requests in the queue
  size_t running() const { return groups_.size(); }   // requests that have started
  int64_t used_rows() const { return used_rows_; }    // sequences of the started requests
  int64_t used_pages() const { return used_pages_; }  // pages reserved for their worst case
  // Totals since the batcher was made. A step that reads any prompt tokens counts as prefill, any other as decode.
  struct Times {
    double prefill = 0, decode = 0;  // seconds
    int64_t prompt_tokens = 0, new_tokens = 0;
  };
  const Times& times() const { return times_; }

 private:
  // The work on a row of logits that prepare() does for all rows in parallel.
  enum class RowKind : uint8_t { none, greedy, beams, whole_beams };
  struct Recipe;
  struct Group;
  struct Slot {  // the feeds of one group in a step
    Group* group;
    size_t row, rows;  // index of the first feed; number of feeds
    // reads: the feed is a part of the prompt. last: it is the prompt's last part.
    bool reads = false, last = false;
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
  // The recipe of the last added request; shared by requests with the same config.
  std::shared_ptr<Recipe> recipe_;
  Ticket next_ = 1;
  int64_t used_rows_ = 0, used_pages_ = 0, used_sources_ = 0, used_source_pages_ = 0;
  Times times_;
  std::vector<Feed> feeds_;
  std::vector<Slot> slots_;
  std::vector<float> row_;      // [V]: the scores of one sequence after the rules
  std::vector<float> scores_;   // [rows, V]: log probabilities, for RowKind::whole_beams
  std::vector<LogNorm> norms_;  // [rows]: for beam search
  std::vector<int32_t> best_;   // [rows]: the argmax, for RowKind::greedy
  std::vector<RowKind> kinds_;  // [rows]
  std::vector<BeamSearch::Row> rows_;
  std::vector<CacheEntry> caches_;
};

}  // namespace hone

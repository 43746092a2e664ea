// Runs a model with a KV cache: takes the new tokens of some sequences, returns the logits of the next tokens.
//
//   CachedModel model(session, config, limits);  // the session holds build_cached_programs(...)
//   CacheEntry a, b;                             // empty: nothing is cached
//   std::array feeds{Feed{&a, prompt_a}, Feed{&b, prompt_b}};
//   auto logits = model.run(feeds);              // f32[2,V]
//   CacheEntry c = model.fork(a);                // c shares a's pages; the first write copies one
//   model.drop(a);
#pragma once

#include <span>
#include <utility>

#include "engine/session/session.h"
#include "learn/generate/pages.h"
#include "learn/generate/programs.h"

namespace hone {

// The cached part of one sequence. CachedModel counts the entries that use each page: copy an entry only with fork(),
// and free it with drop().
struct CacheEntry {
  PageList pages;      // in the order of the tokens
  int64_t length = 0;  // cached tokens
  // Encoder-decoders: the pages of the encoder's source, and its number of tokens.
  PageList source_pages = {};
  int64_t source_length = 0;
  // Model families whose layers carry states from token to token (programs.h): the row of this sequence's states;
  // empty: nothing has been run yet.
  PageList state_row = {};
};

// The input of a run for one sequence.
struct Feed {
  CacheEntry* cache = nullptr;
  std::span<const int32_t> tokens;  // new token ids after the cached ones; at least one
};

class CachedModel {
 public:
  // The session must have the programs of build_cached_programs(config, limits), and must outlive this object.
  CachedModel(Session& session, const ModelConfig& config, const CacheLimits& limits);

  // Runs all feeds and adds the tokens of each feed to its entry. At most limits.rows feeds; no two may have the same
  // entry. Returns the logits after the last token of each feed, [feeds, V], valid until the next run.
  std::span<const float> run(std::span<const Feed> feeds);

  // Runs one feed of at most limits.rows tokens and adds its tokens to the entry. Returns the logits after each of its
  // tokens, [tokens, V], valid until the next run. Not for encoder-decoders.
  std::span<const float> run_each(const Feed& feed);

  // For encoder-decoders: runs the encoder over Feed::tokens, and keeps keys and values for the decoder in the
  // entries. At most limits.sources feeds. Call it once for each entry, before the first run() with the entry.
  void encode(std::span<const Feed> sources);

  // Returns a second entry with the same tokens, which shares the pages of `e`. A shared page is copied before either
  // entry writes to it.
  CacheEntry fork(const CacheEntry& e);
  // Frees the pages of `e`, except pages that other entries share. `e` is then empty.
  void drop(CacheEntry& e);

  // The error of a device that has failed; the logits are then invalid.
  Status check() const { return session_.check(); }

  int64_t vocab() const { return vocab_; }
  // The number of new tokens that the largest program takes. For more tokens, run() runs several programs.
  int64_t most_tokens() const;
  const CacheLimits& limits() const { return limits_; }

 private:
  struct Bound {  // a program and its tensors
    size_t program;
    CachedShape shape;
    int32_t *ids, *positions, *cu_seqlens, *cu_cache, *block_table, *slots, *rows;
    const float* logits;
    int32_t *cu_cross = nullptr, *cross_table = nullptr;  // encoder-decoders
    int32_t *state_from = nullptr, *state_to = nullptr;   // families that carry states
  };
  struct BoundEncoder {
    size_t program;
    CachedShape shape;
    int32_t *ids, *positions, *cu_seqlens, *slots;
  };
  struct Chunk {  // feed `feed` from token `begin` on
    size_t feed;
    int64_t begin, count;
  };
  const Bound& smallest(int64_t tokens, int64_t sequences) const;
  void make_room(CacheEntry& e, int64_t tokens);
  void copy_pages();
  void run_encoder(std::span<const Feed> sources);
  // The rows from which the next run reads the entry's states (-1: none yet) and to which it writes them.
  std::pair<int32_t, int32_t> take_state_row(CacheEntry& e);
  // each_token: computes the logits after every token of the only chunk, not only after its last.
  void run_chunks(const Bound& b, std::span<const Feed> feeds, std::span<const Chunk> chunks,
                  bool each_token = false);

  Session& session_;
  CacheLimits limits_;
  int64_t vocab_;
  PagePool pool_, source_pool_, state_pool_;
  std::vector<Bound> bound_;
  std::vector<BoundEncoder> encoders_;
  struct CacheState {
    size_t state;  // index in the session's plan
    int64_t page_bytes;
  };
  std::vector<CacheState> states_;
  struct PageCopy {
    int32_t from, to;
    int64_t tokens;
  };
  std::vector<PageCopy> copies_;  // requested by make_room, until the next run
  std::vector<StateCopy> state_copies_;
  std::vector<Chunk> chunks_;
  std::vector<float> gathered_;  // [rows, V]: the result of a run of several programs
};

}  // namespace hone

// A model with a KV cache as a function: new tokens in, logits of the next tokens out.
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

// The cached part of one sequence. Move-only; CachedModel::drop frees it.
struct CacheEntry {
  PageList pages;
  int64_t length = 0;  // tokens
  // Encoder-decoders: pages of the source.
  PageList source_pages = {};
  int64_t source_length = 0;
  PageList state_row =
      {};  // families that carry states: the row of this sequence's; empty: it has none yet
};

struct Feed {
  CacheEntry* cache = nullptr;
  std::span<const int32_t> tokens;  // at least one; they follow the cached ones
};

class CachedModel {
 public:
  CachedModel(Session& session, const ModelConfig& config, const CacheLimits& limits);

  // Runs all feeds (at most limits.rows, no entry twice) and extends their entries. Logits of each
  // feed's last token, [feeds, V]; valid until the next run.
  std::span<const float> run(std::span<const Feed> feeds);

  // Runs one feed of at most limits.rows tokens and extends its entry. Logits of each of its tokens,
  // [tokens, V]; valid until the next run. Not for encoder-decoders.
  std::span<const float> run_each(const Feed& feed);

  // Encoder-decoders, before an entry's first run: reads the sources (at most limits.sources).
  void encode(std::span<const Feed> sources);

  CacheEntry fork(const CacheEntry& e);
  void drop(CacheEntry& e);

  // The first failure of the device: logits are invalid then.
  Status check() const { return session_.check(); }

  int64_t vocab() const { return vocab_; }
  int64_t most_tokens() const;  // of one program; longer runs take several
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
  // The rows of the entry's states before and after a run of its next tokens.
  std::pair<int32_t, int32_t> take_state_row(CacheEntry& e);
  // each_token: of the only chunk, logits of all tokens are wanted.
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
  std::vector<float> gathered_;  // [rows, V]; for runs of several programs
};

}  // namespace hone

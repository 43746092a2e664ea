// The programs that generate text. Each is a forward pass over new tokens. It reads the keys and values of earlier
// tokens from a paged cache and adds those of the new tokens to it. Letters: T new tokens, S sequences, B pages that a
// sequence may use, V vocabulary, G key/value heads, D head size.
//
//   inputs  ids i32[T], positions i32[T]    new tokens of all sequences, one after another
//           cu_seqlens i32[S+1]             boundaries of the sequences; tokens after the last are ignored
//           cu_cache i32[S+1]               cumulative lengths of the sequences in the cache, new tokens included
//           block_table i32[S,B]            pages of each sequence, in order
//           slots i32[T]                    place of each new token: page * page size + offset; -1: ignored
//           rows i32[S]                     indices of the tokens after which logits are computed; -1: zeros
//   output  logits f32[S,V]
//   states  the weights, and cache.<layer>.k|v f32[pages, page size, G*D]
//
// Some families have layers that carry a state from token to token (Family::carries_states). Their programs have two
// further inputs i32[S]. state_from: the row from which a sequence's states are read; -1: they begin as zeros.
// state_to: the row to which the new states are written; -1: they are not kept. The rows are those of the tensors
// carried.<layer>.<which> f32[rows, 1, width].
//
// Sequences of any lengths share a program without padding. Prefill is a program of many tokens; decoding is one with
// T = S. All programs of a session use the same weights and cache, because their states have the same names.
//
// Encoder-decoders have two kinds of programs. An encoding program reads whole sources, Te tokens of S sequences, and
// writes their keys and values for each layer of the decoder into the pages of a second cache. A decoding program
// reads both caches. It has T = S: one token for each sequence, also while it reads the decoder's first tokens.
//
//   encoding    inputs encoder_ids, encoder_positions, cross_slots i32[Te], encoder_cu_seqlens i32[S+1]
//   decoding    further inputs cu_cross i32[S+1], cross_table i32[S,Bx] (Bx pages that a source may use)
//   states      cross.<layer>.k|v f32[source pages, page size, G*D]
#pragma once

#include "engine/passes/store_weights.h"
#include "learn/models/family.h"

namespace hone {

// The sizes of one program.
struct CachedShape {
  int64_t tokens = 0;     // T, or Te
  int64_t sequences = 0;  // S
  int64_t pages = 0;      // of the whole cache
  int64_t page = 0;       // tokens of a page
  int64_t blocks = 0;     // B
  // source_pages: pages of the whole second cache; 0: the model has no encoder. source_blocks: Bx.
  int64_t source_pages = 0, source_blocks = 0;
  bool encodes = false;    // true: an encoding program
  int64_t state_rows = 0;  // rows of the carried states; only if Family::carries_states
};

// Builds one program and runs no passes on it. The caller must run those of forward_pipeline().
Program build_cached_program(const ModelConfig& config, const CachedShape& shape,
                             const std::string& name);

// The most that one run of generation needs. The programs and the cache are made for these sizes.
struct CacheLimits {
  int64_t rows = 1;    // sequences that generate at the same time
  int64_t tokens = 0;  // tokens of the longest sequence, prompt included
  // Tokens of the longest prompt; limits the size of the prefill programs.
  int64_t longest_prompt = 0;
  int64_t page = 32;  // tokens of a page
  // Largest number of pages; 0: enough for `rows` sequences of `tokens` tokens.
  int64_t most_pages = 0;
  WeightStorage weights = WeightStorage::f32;  // element type of the matrices in memory
  // For encoder-decoders. sources: sources in use at the same time. longest_source: tokens of the longest one; 0: the
  // model has no encoder.
  int64_t sources = 0, longest_source = 0;
  int64_t most_source_pages = 0;  // 0: enough for `sources` sources of `longest_source` tokens
  int64_t source_blocks() const { return (longest_source + page - 1) / page; }
  int64_t source_pages() const { return at_most(sources * source_blocks(), most_source_pages); }
  int64_t blocks() const { return (tokens + page - 1) / page; }
  int64_t pages() const { return at_most(rows * blocks(), most_pages); }
  bool operator==(const CacheLimits&) const = default;

 private:
  static int64_t at_most(int64_t all, int64_t most) { return most > 0 && most < all ? most : all; }
};

// The shapes of the programs. In each kind, T grows by powers of two up to the largest T, which may be any number:
//   decoding  T = S, up to `rows`
//   prefill   S = rows, T up to the first power of two that holds rows * longest_prompt tokens, at most 512; more
//             prompt tokens take several runs
//   encoding  for encoder-decoders in place of prefill: S = sources, Te up to sources * longest_source, at most the
//             larger one of 1024 and longest_source
std::vector<CachedShape> cached_shapes(const CacheLimits& limits);
std::string cached_name(const CachedShape& shape);  // "decode_8", "prefill_256", "encode_512"

// Builds all programs of the limits and runs their passes. Errors: those of run_passes().
Result<std::vector<Program>> build_cached_programs(const ModelConfig& config,
                                                   const CacheLimits& limits);

}  // namespace hone

// The programs of generation: a forward pass over new tokens whose keys and values join those in a
// paged cache. Letters: T new tokens, S sequences, B pages a sequence may use, V vocabulary.
//
//   inputs  ids i32[T], positions i32[T]    new tokens of all sequences, one after another
//           cu_seqlens i32[S+1]             their boundaries; tokens past the last one are idle
//           cu_cache i32[S+1]               cumulative lengths in the cache, with the new tokens
//           block_table i32[S,B]            pages of a sequence, in order
//           slots i32[T]                    page * page size + offset of each new token; -1: idle
//           rows i32[S]                     tokens whose logits are wanted; -1: none, zeros
//   output  logits f32[S,V]
//   states  the weights, and cache.<layer>.k|v f32[pages, page, G*D]
//
// Families whose layers carry states (Family::carries_states) have two inputs more, state_from and state_to
// i32[S]: the row of a sequence's states before and after the run; -1: none. Their states are
// carried.<layer>.<which> f32[rows, 1, width].
//
// Sequences of any lengths share a program without padding: prefill is a program of many tokens,
// decoding one of T = S. All programs of a session share weights and cache by the states' names.
//
// Encoder-decoders: an encoding program reads whole sources, Te tokens of S sequences, and puts
// their keys and values for the decoder's layers into pages of another cache; decoding reads those.
// It has T = S, one token for each sequence, also for the tokens that the decoder starts with.
//
//   encoding    encoder_ids, encoder_positions, cross_slots i32[Te], encoder_cu_seqlens i32[S+1]
//   decoding    besides those above: cu_cross i32[S+1], cross_table i32[S,Bx]
//   states      cross.<layer>.k|v f32[source pages, page, G*D]
#pragma once

#include "engine/passes/store_weights.h"
#include "learn/models/family.h"

namespace hone {

struct CachedShape {
  int64_t tokens = 0;     // T
  int64_t sequences = 0;  // S
  int64_t pages = 0;      // in the cache
  int64_t page = 0;       // tokens of a page
  int64_t blocks = 0;     // B
  // Encoder-decoders; 0: the model has no encoder.
  int64_t source_pages = 0, source_blocks = 0;  // Bx
  bool encodes = false;                         // tokens and sequences are those of sources
  int64_t state_rows = 0;                       // families that carry states
};

// Builds the program without any pass; its pipeline is forward_pipeline().
Program build_cached_program(const ModelConfig& config, const CachedShape& shape,
                             const std::string& name);

// Largest needs of one run of generation.
struct CacheLimits {
  int64_t rows = 1;            // sequences alive at once
  int64_t tokens = 0;          // of one sequence, prompt and new ones
  int64_t longest_prompt = 0;  // tokens; bounds the prefill programs
  int64_t page = 32;
  int64_t most_pages = 0;  // of the cache; 0: enough for `rows` sequences of `tokens` tokens
  WeightStorage weights = WeightStorage::f32;  // form of the matrices
  // Encoder-decoders: sources alive at once, and tokens of the longest.
  int64_t sources = 0, longest_source = 0;
  int64_t most_source_pages = 0;  // 0: enough for `sources` of them
  int64_t source_blocks() const { return (longest_source + page - 1) / page; }
  int64_t source_pages() const { return at_most(sources * source_blocks(), most_source_pages); }
  int64_t blocks() const { return (tokens + page - 1) / page; }
  int64_t pages() const { return at_most(rows * blocks(), most_pages); }
  bool operator==(const CacheLimits&) const = default;

 private:
  static int64_t at_most(int64_t all, int64_t most) { return most > 0 && most < all ? most : all; }
};

// The shapes of the programs, by rising T in powers of two: for decoding (T = S) up to `rows`, for
// prefill (S = rows) up to the tokens of all prompts, at most 512. Longer prompts take several
// runs. Encoder-decoders have encoding programs instead, up to the tokens of the sources: at most
// 1024, or the longest source.
std::vector<CachedShape> cached_shapes(const CacheLimits& limits);
std::string cached_name(const CachedShape& shape);  // "decode_8", "prefill_256", "encode_512"

// Every program of the limits, after its passes.
Result<std::vector<Program>> build_cached_programs(const ModelConfig& config,
                                                   const CacheLimits& limits);

}  // namespace hone

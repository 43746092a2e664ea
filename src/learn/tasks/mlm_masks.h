// Chooses the tokens that a masked language model must predict, and replaces them in its input (BERT: Devlin et al.
// 2019, section 3.1; Transformers' DataCollatorForLanguageModeling).
//
// Every choice depends only on (seed, step, number of the row, position in the row), so batches, threads and resumed
// runs do not change it. The random numbers of a token are the first three 32-bit words of a Philox block. Its counter
// is {lo32(row), hi32(row), position, 0}, its key is dropout_key(seed, step, scope_hash("mlm")). Each word is divided
// by 2^32, which gives a number from 0 to 1:
//   word 0   below `probability`: the token is chosen: the model must predict it
//   word 1   for a chosen token, below 0.8: the mask token replaces it; from 0.8 to 0.9: a random token replaces it;
//            otherwise it stays in the input
//   word 2   the random token, drawn uniformly from the vocabulary
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learn/data/batches/batch.h"

namespace hone {

struct MaskOptions {
  double probability = 0.15;  // probability that a token is chosen
  uint64_t seed = 0;          // random seed
  int32_t mask_id = 0;        // id of the mask token
  int32_t vocab = 0;          // size of the vocabulary; ids of random tokens are below it
  // By token id: 1 if the token is never chosen, such as a special token; 0, or no element: it may be chosen.
  std::vector<uint8_t> untouched;
};

class TokenMasker {
 public:
  explicit TokenMasker(MaskOptions options) : o_(std::move(options)) {}

  // The number of tokens that mask() chooses in a row. `step`: number of the training step, or the fixed number that
  // evaluations use. `row`: number of the row in the epoch. `ids`: the tokens of the row.
  int64_t count(int64_t step, int64_t row, std::span<const int32_t> ids) const;
  // Chooses tokens of the row and changes `ids` as described above. Sets labels[i] to the original id of a chosen
  // token, and to kIgnoreLabel for all other tokens. `labels` has the size of `ids`.
  void mask(int64_t step, int64_t row, std::span<int32_t> ids, std::span<int32_t> labels) const;

 private:
  MaskOptions o_;
};

// The number of labels for which a program of `tokens` tokens has room: the expected number plus four standard
// deviations, rounded up to a multiple of 16 and at most `tokens`. If a micro-batch has more labels, the program runs
// again for the remaining labels.
int64_t label_rows_of(int64_t tokens, double probability);

}  // namespace hone

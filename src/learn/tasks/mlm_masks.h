// Chooses the tokens that a masked language model must predict, and replaces them in its input (BERT: Devlin et al.
// 2019, section 3.1; Transformers' DataCollatorForLanguageModeling).
//
// Every choice depends only on (seed, step, number of the row, position in the row), so batches, threads and resumed
// runs do not change it. The random numbers are three words of the Philox block of counter {lo32(row), hi32(row),
// position, 0} under dropout_key(seed, step, scope_hash("mlm")), read as fractions of 2^32:
//   word 0   below `probability`: the token is to predict
//   word 1   below 0.8: the mask token replaces it; from 0.8 to 0.9: a random token replaces it; else it stays
//   word 2   the random token, drawn uniformly from the vocabulary
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learn/data/batches/batch.h"

namespace hone {

struct MaskOptions {
  double probability = 0.15;  // share of the tokens to predict
  uint64_t seed = 0;
  int32_t mask_id = 0;  // id of the mask token
  int32_t vocab = 0;    // size of the vocabulary; random tokens are below it
  // By id: 1 if the token is never to predict, such as special tokens.
  std::vector<uint8_t> untouched;
};

class TokenMasker {
 public:
  explicit TokenMasker(MaskOptions options) : o_(std::move(options)) {}

  // The number of tokens of the row to predict. `step`: the training step, or the fixed number that evaluations use.
  // `row`: number of the row.
  int64_t count(int64_t step, int64_t row, std::span<const int32_t> ids) const;
  // Replaces ids. Sets `labels`, which has the size of `ids`, to the original id of a token to predict, and to
  // kIgnoreLabel for all other tokens.
  void mask(int64_t step, int64_t row, std::span<int32_t> ids, std::span<int32_t> labels) const;

 private:
  MaskOptions o_;
};

// The number of labels for which a program of `tokens` tokens has room: the expected number plus four standard
// deviations. If a micro-batch has more labels, the program runs again for the others.
int64_t label_rows_of(int64_t tokens, double probability);

}  // namespace hone

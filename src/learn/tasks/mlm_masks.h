// Tokens that a masked language model has to predict, and their replacements in its input (BERT:
// Devlin et al. 2019, section 3.1; Transformers' DataCollatorForLanguageModeling).
//
// Every choice is a function of (seed, step, number of the row, position in it) alone, so batches,
// threads and resumed runs do not change it: three words of the Philox block of counter {lo32(row),
// hi32(row), position, 0} under dropout_key(seed, step, scope_hash("mlm")). Word 0 below p: the
// token is predicted; word 1 below 0.8: it becomes the mask token, below 0.9: the token that
// word 2 draws evenly from the vocabulary, else it stays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learn/data/batches/batch.h"

namespace hone {

struct MaskOptions {
  double probability = 0.15;
  uint64_t seed = 0;
  int32_t mask_id = 0;
  int32_t vocab = 0;               // random tokens are below it
  std::vector<uint8_t> untouched;  // by id: 1 if the token is never predicted
};

class TokenMasker {
 public:
  explicit TokenMasker(MaskOptions options) : o_(std::move(options)) {}

  // Number of tokens of the row to predict. `step` may be any number; evaluation has its
  // own.
  int64_t count(int64_t step, int64_t row, std::span<const int32_t> ids) const;
  // Replaces ids, and puts the true ones into `labels`, kIgnoreLabel everywhere else.
  void mask(int64_t step, int64_t row, std::span<int32_t> ids, std::span<int32_t> labels) const;

 private:
  MaskOptions o_;
};

// Label rows of a program for `tokens` tokens: the expected number plus four standard deviations.
// Further rows run through the program once more.
int64_t label_rows_of(int64_t tokens, double probability);

}  // namespace hone

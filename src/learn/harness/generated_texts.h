// Texts that a model wrote, as run_summarization reports and keeps them.
#pragma once

#include "learn/tokenizers/tokenizer.h"

namespace hone {

// gen_len: the mean number of tokens that are not padding, the decoder's start token among them.
class GeneratedLengths {
 public:
  explicit GeneratedLengths(int32_t pad) : pad_(pad) {}
  void add(std::span<const int32_t> start, std::span<const int32_t> tokens);
  double mean() const;  // NaN without texts

 private:
  int32_t pad_;
  int64_t tokens_ = 0, texts_ = 0;
};

// A line of generated_predictions.txt: without white space around it, and, where the tokenizer is
// no byte-level BPE, with the spaces taken out that some tokenizers leave before punctuation
// (Transformers' clean_up_tokenization_spaces). Line breaks inside stay.
std::string prediction_line(std::string text, const Tokenizer& tokenizer);

}  // namespace hone

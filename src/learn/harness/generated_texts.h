// Generated texts, with run_summarization's metrics and files.
#pragma once

#include "learn/tokenizers/tokenizer.h"

namespace hone {

// gen_len: the mean number of tokens without padding; the decoder's start token counts.
class GeneratedLengths {
 public:
  explicit GeneratedLengths(int32_t pad) : pad_(pad) {}
  void add(std::span<const int32_t> start, std::span<const int32_t> tokens);
  double mean() const;  // NaN without texts

 private:
  int32_t pad_;
  int64_t tokens_ = 0, texts_ = 0;
};

// A line of generated_predictions.txt: without surrounding white space. Unless the tokenizer is a
// byte-level BPE, spaces that some tokenizers leave before punctuation are removed (Transformers'
// clean_up_tokenization_spaces). Line breaks inside stay.
std::string prediction_line(std::string text, const Tokenizer& tokenizer);

}  // namespace hone

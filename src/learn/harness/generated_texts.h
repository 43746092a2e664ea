// Metrics and files of generated texts, as in Transformers' example script run_summarization.
#pragma once

#include "learn/tokenizers/tokenizer.h"

namespace hone {

// The metric gen_len: the mean number of tokens of a generated text. Counts the decoder's start tokens, but not
// padding.
class GeneratedLengths {
 public:
  explicit GeneratedLengths(int32_t pad) : pad_(pad) {}  // `pad`: id of the padding token
  // Adds a text. `start`: the tokens that the decoder starts with. `tokens`: the generated tokens.
  void add(std::span<const int32_t> start, std::span<const int32_t> tokens);
  double mean() const;  // NaN if no text was added

 private:
  int32_t pad_;
  int64_t tokens_ = 0, texts_ = 0;
};

// The text in the form of generated_predictions.txt. Removes white space around the text and, unless the tokenizer is a
// byte-level BPE, spaces before punctuation (Transformers' clean_up_tokenization_spaces). Line breaks inside the text
// stay, so a text may take several lines of the file.
std::string prediction_line(std::string text, const Tokenizer& tokenizer);

}  // namespace hone

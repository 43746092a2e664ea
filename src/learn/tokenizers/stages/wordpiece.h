// The model WordPiece: splits a word into the longest token that it begins with, then the longest continuing token
// ("##ing") that the rest begins with, and so on. A word that cannot be split this way, or is too long, becomes one
// unknown token.
// Reference: Wu et al. 2016 (arXiv 1609.08144); huggingface/tokenizers models/wordpiece.
#pragma once

#include <memory>
#include <string>

#include "learn/tokenizers/stages/stages.h"

namespace hone {

struct WordPieceParts {
  Vocabulary vocabulary;
  std::string unk_token = "[UNK]";
  std::string prefix = "##";  // the beginning of tokens that continue a word
  int64_t max_chars = 100;    // a word with more characters becomes one unknown token
};

// Creates the model. Errors: H2005 the unknown token is not in the vocabulary.
Result<std::unique_ptr<Model>> make_wordpiece(WordPieceParts parts);

}  // namespace hone

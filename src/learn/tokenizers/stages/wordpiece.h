// WordPiece: a word becomes the longest token that it begins with, then the longest continuing
// token ("##ing") that the rest begins with, and so on; a word that cannot be covered, or is too
// long, is one unknown token.
// Reference: Wu et al. 2016 (arXiv 1609.08144); huggingface/tokenizers models/wordpiece.
#pragma once

#include <memory>
#include <string>

#include "learn/tokenizers/stages/stages.h"

namespace hone {

struct WordPieceParts {
  Vocabulary vocabulary;
  std::string unk_token = "[UNK]";
  std::string prefix = "##";  // of the tokens that continue a word
  int64_t max_chars = 100;    // of a word
};

// kTokenizerVocabulary when the unknown token is not in the vocabulary.
Result<std::unique_ptr<Model>> make_wordpiece(WordPieceParts parts);

}  // namespace hone

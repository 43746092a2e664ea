// The normalization of SentencePiece, in one pass over the text. It replaces characters by a charsmap, which maps
// character sequences to replacements (the longest match counts), leaves user defined pieces unchanged, merges runs of
// spaces and removes spaces at the ends (squeeze), puts a space in front (prefix), and writes each space as U+2581.
// Each byte that is not UTF-8 becomes U+FFFD. Reference: google/sentencepiece normalizer.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/charsmap.h"

namespace hone {

struct SentencePieceNormalization {
  std::optional<Charsmap> charsmap;       // none: no characters are replaced
  std::vector<std::string> user_defined;  // pieces that are left unchanged
  bool prefix = true, squeeze = true;
};
std::unique_ptr<Normalizer> make_sentencepiece_normalizer(SentencePieceNormalization how);

}  // namespace hone

// SentencePiece's own normalization, in one walk over the text: the longest keys of a charsmap,
// user defined pieces unchanged, runs of spaces and those at the ends taken off, a space in
// front, every space as U+2581. What is not UTF-8 becomes U+FFFD, byte by byte. Reference:
// google/sentencepiece normalizer.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/charsmap.h"

namespace hone {

struct SentencePieceNormalization {
  std::optional<Charsmap> charsmap;
  std::vector<std::string> user_defined;
  bool prefix = true, squeeze = true;
};
std::unique_ptr<Normalizer> make_sentencepiece_normalizer(SentencePieceNormalization how);

}  // namespace hone

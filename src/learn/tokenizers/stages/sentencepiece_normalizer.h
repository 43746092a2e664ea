// SentencePiece's own normalization, in one pass over the text: the longest keys of a charsmap,
// user defined pieces unchanged, runs of spaces merged and removed at the ends, a space in front,
// every space as U+2581. Bytes that are not UTF-8 become U+FFFD, one by one. Reference:
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

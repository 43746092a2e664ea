// Converts a SentencePiece model of the type Unigram into the parts of a tokenizer.
#pragma once

#include <memory>

#include "learn/tokenizers/load/sentencepiece_model.h"
#include "learn/tokenizers/stages/sentencepiece_normalizer.h"
#include "learn/tokenizers/stages/unigram.h"

namespace hone {

// The pieces with the scores that SentencePiece uses. The id of a piece is its index in the file. Errors: H2002 a
// piece is damaged; H2005 there is no unknown piece.
Result<UnigramParts> unigram_parts(const SentencePieceModel& model);
// The normalizer that the settings of the model describe. Errors: H2002 the charsmap is damaged.
Result<std::unique_ptr<Normalizer>> sentencepiece_normalizer(const SentencePieceModel& model);

}  // namespace hone

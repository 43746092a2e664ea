// Converts a SentencePiece model of the type Unigram.
#pragma once

#include <memory>

#include "learn/tokenizers/load/sentencepiece_model.h"
#include "learn/tokenizers/stages/sentencepiece_normalizer.h"
#include "learn/tokenizers/stages/unigram.h"

namespace hone {

// Pieces and scores as SentencePiece uses them; ids are places in the file.
Result<UnigramParts> unigram_parts(const SentencePieceModel& model);
Result<std::unique_ptr<Normalizer>> sentencepiece_normalizer(const SentencePieceModel& model);

}  // namespace hone

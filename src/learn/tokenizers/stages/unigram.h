// Unigram: the cover of a text by pieces whose scores have the largest sum (Viterbi). A character
// that is not a piece is unknown; a run of such characters becomes the tokens "<0x..>" of its bytes
// (byte_fallback), else one unknown token.
// Reference: Kudo 2018 (arXiv 1804.10959); google/sentencepiece unigram_model.cc, EncodeOptimized;
// huggingface/tokenizers models/unigram.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/tokenizers/stages/stages.h"

namespace hone {

struct UnigramPiece {
  std::string text;
  double score = 0;
  int32_t id = 0;  // of the vocabulary
};

struct UnigramParts {
  Vocabulary vocabulary;
  std::vector<UnigramPiece> pieces;  // that a text is covered with; of equal texts the last counts
  int32_t unk_id = -1;
  double unk_score = 0;  // of an unknown character: kUnknownPenalty below the lowest score
  bool byte_fallback = false;
  // Sums are floats that restart when they pass 100,000, as in SentencePiece 0.2.3 (this changes
  // long texts); else they are doubles without restarts, as in tokenizers.
  bool single_precision = false;
  // A run of unknown characters that the vocabulary has is that token, as in tokenizers and Marian.
  bool look_up_unknown = false;
};
inline constexpr double kUnknownPenalty = 10;

std::unique_ptr<Model> make_unigram(UnigramParts parts);

}  // namespace hone

// The model Unigram: splits a text into the pieces whose scores have the largest sum (Viterbi). A character that no
// piece covers is unknown. A run of unknown characters becomes the tokens "<0x..>" of its bytes (byte_fallback), or
// one unknown token. Reference: Kudo 2018 (arXiv 1804.10959); google/sentencepiece unigram_model.cc, EncodeOptimized;
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
  int32_t id = 0;  // its id in the vocabulary
};

struct UnigramParts {
  Vocabulary vocabulary;
  // The pieces that may cover a text; if two pieces have the same text, the last one counts.
  std::vector<UnigramPiece> pieces;
  int32_t unk_id = -1;
  // The score of an unknown character: the lowest score of a piece minus kUnknownPenalty.
  double unk_score = 0;
  bool byte_fallback = false;
  // true: sums of scores are floats that restart when they exceed 100,000, as in SentencePiece 0.2.3; this affects the
  // result for long texts. false: sums are doubles without restarts, as in Hugging Face tokenizers.
  bool single_precision = false;
  // true: a run of unknown characters that is a token of the vocabulary becomes that token, as in Hugging Face
  // tokenizers and Marian.
  bool look_up_unknown = false;
};
inline constexpr double kUnknownPenalty = 10;

std::unique_ptr<Model> make_unigram(UnigramParts parts);

}  // namespace hone

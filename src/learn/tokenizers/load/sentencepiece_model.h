// A SentencePiece model file: its pieces and settings, unchanged.
// Reference: google/sentencepiece sentencepiece_model.proto for the fields; the protobuf encoding
// guide for the bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/core/error.h"
#include "learn/tokenizers/text/vocabulary.h"

namespace hone {

// GGUF files number the types of their tokens the same way (tokenizer.ggml.token_type).
enum SentencePieceType { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
struct SentencePiece {
  std::string_view text;
  float score = 0;
  uint64_t type = kNormal;
  size_t offset = 0;
};

struct SentencePieceModel {
  std::vector<SentencePiece> pieces;
  uint64_t model_type = 1;
  bool byte_fallback = false, space_as_suffix = false;
  int32_t bos = 1, eos = 2, pad = -1;  // ids, -1 = none
  std::string_view rule = "";
  // Whether a text may be covered with the piece.
  bool in_texts(const SentencePiece& p) const {
    return p.type == kNormal || p.type == kUserDefined || p.type == kUnused;
  }
  std::string_view charsmap;  // empty: none
  bool dummy_prefix = true, squeeze = true, escape = true;
};

// Views of `bytes`. Errors: kTokenizerFormat with the byte where the file is damaged.
Result<SentencePieceModel> parse_sentencepiece(std::string_view bytes);

// kTokenizerFormat for a piece that is empty, no UTF-8, of an unknown type or in the vocabulary.
Status check_sentencepiece(const SentencePiece& piece, size_t id, const Vocabulary& vocabulary);

}  // namespace hone

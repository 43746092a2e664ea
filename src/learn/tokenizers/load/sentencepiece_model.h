// Parses a SentencePiece model file into its pieces and settings.
// Reference: google/sentencepiece sentencepiece_model.proto for the fields; the protobuf encoding
// guide for the bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/core/error.h"
#include "learn/tokenizers/text/vocabulary.h"

namespace hone {

// The types of pieces. GGUF files use the same numbers for tokens (tokenizer.ggml.token_type).
enum SentencePieceType { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
struct SentencePiece {
  std::string_view text;
  float score = 0;
  uint64_t type = kNormal;
  size_t offset = 0;  // the byte of the file at which the piece begins
};

struct SentencePieceModel {
  std::vector<SentencePiece> pieces;
  uint64_t model_type = 1;  // 1 Unigram, 2 BPE, 3 WORD, 4 CHAR
  // The fields byte_fallback and treat_whitespace_as_suffix of the file.
  bool byte_fallback = false, space_as_suffix = false;
  int32_t bos = 1, eos = 2, pad = -1;  // ids; -1: none
  // The name of the normalization, such as "nmt_nfkc".
  std::string_view rule = "";
  // True if the piece may be used to cover a text.
  bool in_texts(const SentencePiece& p) const {
    return p.type == kNormal || p.type == kUserDefined || p.type == kUnused;
  }
  std::string_view charsmap;  // the precompiled normalization; empty: none
  // The fields add_dummy_prefix, remove_extra_whitespaces and escape_whitespaces of the file.
  bool dummy_prefix = true, squeeze = true, escape = true;
};

// Parses the bytes of a file. The texts of the result are views of `bytes`. Errors: H2002 the file is damaged; the
// message names the byte.
Result<SentencePieceModel> parse_sentencepiece(std::string_view bytes);

// Checks a piece. Errors: H2002 the piece is empty, is not UTF-8, has an unknown type, or is already in the vocabulary.
Status check_sentencepiece(const SentencePiece& piece, size_t id, const Vocabulary& vocabulary);

}  // namespace hone

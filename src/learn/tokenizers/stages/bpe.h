// The model byte pair encoding (BPE), in two forms.
//
// Byte-level (such as GPT-2): a piece starts as one symbol for each byte. Character-level (SentencePiece): a piece
// starts as one symbol for each character. A character that is not a token becomes the tokens "<0x..>" of its bytes
// (byte_fallback), or the unknown token. Reference: Sennrich et al. 2016; huggingface/tokenizers models/bpe for unk
// and ignore_merges; Kudo and Richardson 2018 for byte fallback.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/tokenizers/stages/stages.h"

namespace hone {

// The ids of two tokens, and of the token that they are merged to.
struct Merge {
  int32_t left, right, result;
};

struct BpeParts {
  // If byte_level is true, each byte of a token is written as one printable character ("Ġthe" for " the").
  Vocabulary vocabulary;
  std::vector<Merge> merges;  // if a pair appears twice, its last rank counts
  // ranks[i] >= 0 is the rank of merges[i]: lower ranks merge first. Empty: the rank of merges[i] is i.
  std::vector<int32_t> ranks;
  bool byte_level = true;      // false: character-level
  bool byte_fallback = false;  // character-level only
  std::string unk_token;       // the token for characters that are not tokens; "": they are dropped
  bool fuse_unk = false;       // true: a run of unknown characters becomes one unknown token
  bool ignore_merges = false;  // true: a piece that is a token becomes it, without merging
};

// Looks up the three tokens of a merge. `where` is its place for messages. Errors: H2005 the vocabulary lacks one of
// them.
Result<Merge> resolve_merge(const Vocabulary& vocabulary, std::string_view left,
                            std::string_view right, const std::string& where);

// The most bytes of a token for merges_from_scores.
inline constexpr size_t kMaxMergedBytes = 1024;
// Sets parts.merges and parts.ranks for a vocabulary that has scores but no list of merges, as in SentencePiece. Each
// way to split a token into two tokens is a merge. Merges to tokens with a higher scores[id] come first. If scores are
// equal, the leftmost pair in a text comes first. Tokens whose score is NaN are ignored. Errors: H2005 a token has more
// than kMaxMergedBytes bytes.
Status merges_from_scores(const std::vector<float>& scores, BpeParts& parts);

// Creates the model. Errors: H2005 the unknown token is not in the vocabulary.
Result<std::unique_ptr<Model>> make_bpe(BpeParts parts);
// Create the two forms. make_bpe chooses one by parts.byte_level.
std::unique_ptr<Model> make_byte_level_bpe(BpeParts parts);
std::unique_ptr<Model> make_character_bpe(BpeParts parts);

// The value of "model" in tokenizer.json.
std::string bpe_json(const BpeParts& parts);

}  // namespace hone

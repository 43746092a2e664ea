// Byte pair encoding.
//
// Byte-level (such as GPT-2): a piece starts as one symbol per byte. Character-level
// (SentencePiece): as one symbol per character; a character that is not a token becomes the tokens
// "<0x..>" of its bytes (byte_fallback), else the unknown token.
// Reference: Sennrich et al. 2016; huggingface/tokenizers models/bpe for unk and ignore_merges;
// Kudo and Richardson 2018 for byte fallback.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/tokenizers/stages/stages.h"

namespace hone {

struct Merge {
  int32_t left, right, result;
};

struct BpeParts {
  Vocabulary vocabulary;       // byte-level: spelled in the byte-level alphabet
  std::vector<Merge> merges;   // a pair given twice keeps its last rank
  std::vector<int32_t> ranks;  // of the merges, not negative; empty: rank = index
  bool byte_level = true;
  bool byte_fallback = false;  // character-level only
  std::string unk_token;       // for text that is not a token; "": that text is dropped
  bool fuse_unk = false;       // a run of it is one unknown token
  bool ignore_merges = false;  // a piece that is a token needs no merges
};

// Looks the three tokens of a merge up; `where` names its place for the error.
Result<Merge> resolve_merge(const Vocabulary& vocabulary, std::string_view left,
                            std::string_view right, const std::string& where);

// The merges of a vocabulary without a list of them: every split of a token into two tokens.
// scores[id] orders them, the highest first, as SentencePiece does; among equal scores the
// leftmost pair of a text merges first. Tokens with a score of NaN take no part.
// Errors: kTokenizerVocabulary for a token of more than kMaxMergedBytes.
inline constexpr size_t kMaxMergedBytes = 1024;
Status merges_from_scores(const std::vector<float>& scores, BpeParts& parts);

// kTokenizerVocabulary when the unknown token is not in the vocabulary.
Result<std::unique_ptr<Model>> make_bpe(BpeParts parts);
std::unique_ptr<Model> make_byte_level_bpe(BpeParts parts);  // the two kinds of make_bpe
std::unique_ptr<Model> make_character_bpe(BpeParts parts);

// The "model" of tokenizer.json.
std::string bpe_json(const BpeParts& parts);

}  // namespace hone

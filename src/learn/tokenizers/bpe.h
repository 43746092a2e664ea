// Byte-level byte pair encoding.
//
// A piece starts as one symbol per byte; the adjacent pair with the lowest rank (the place of its
// merge in the file), the leftmost of equals, is replaced by its result until no pair has a rank.
// Short pieces scan an array; long ones use a heap, so n bytes take O(n log n).
// Reference: Sennrich et al. 2016; huggingface/tokenizers models/bpe for unk and ignore_merges.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "learn/tokenizers/stages.h"

namespace hone {

struct Merge {
  int32_t left, right, result;
};

struct BpeParts {
  Vocabulary vocabulary;       // spelled in the byte-level alphabet
  std::vector<Merge> merges;   // rank = index; a pair given twice keeps its last rank
  std::string unk_token;       // for bytes that are no token; "" = such bytes are dropped
  bool fuse_unk = false;       // a run of them is one unknown token
  bool ignore_merges = false;  // a piece that is a token needs no merges
};

// Looks the three tokens of a merge up; `where` names its place for the error.
Result<Merge> resolve_merge(const Vocabulary& vocabulary, std::string_view left,
                            std::string_view right, const std::string& where);

Result<std::unique_ptr<Model>> make_bpe(BpeParts parts);

}  // namespace hone

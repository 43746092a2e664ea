// Token rows for causal language models: run_clm's concatenated blocks, or rows kept apart.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "learn/data/formats/rows.h"

namespace hone {

// Sequences of token ids, one behind the other in one array.
class TokenRows {
 public:
  int64_t size() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t tokens() const { return offsets_.back(); }
  int64_t length(int64_t i) const {
    return offsets_[static_cast<size_t>(i) + 1] - offsets_[static_cast<size_t>(i)];
  }
  std::span<const int32_t> row(int64_t i) const {
    return {ids_.data() + offsets_[static_cast<size_t>(i)], static_cast<size_t>(length(i))};
  }
  void add(std::span<const int32_t> ids);
  void keep_first(int64_t rows);  // drops the rows behind the first `rows`
  void shrink() { ids_.shrink_to_fit(), offsets_.shrink_to_fit(); }
  int64_t memory_bytes() const;

 private:
  std::vector<int32_t> ids_;
  std::vector<int64_t> offsets_ = {0};
};

enum class Grouping {
  kBlocks,  // run_clm: rows concatenated, blocks of block_size; the rest of each 1,000 rows dropped
  kRows,    // --packing: rows apart, cut at block_size, EOS appended unless it is there
};

struct CausalOptions {
  Grouping grouping = Grouping::kBlocks;
  int64_t block_size = 1024;
  std::optional<int32_t> eos;  // kRows only
  size_t column = 0;           // text, or lists of integers that are ids already
  int64_t first_row = 0;       // of the reader's rows from its position: [first_row, end_row)
  int64_t end_row = INT64_MAX;
};

// What happened on the way from text to rows, for the first screen.
struct CausalCounts {
  int64_t rows_read = 0;
  int64_t tokens_read = 0;  // before anything is dropped or appended
  int64_t rows_kept = 0;    // sequences or blocks
  int64_t tokens_kept = 0;
  int64_t tokens_dropped = 0;  // kBlocks: remainders; kRows: cut off
  int64_t rows_cut = 0;        // kRows: longer than block_size
  int64_t rows_too_short = 0;  // kRows: fewer than two tokens, which nothing can be learnt from
  int64_t eos_appended = 0;
};

// Takes tokenised rows one at a time. Blocks are those of run_clm's group_texts under
// Dataset.map(batched=True): every 1,000 consecutive rows are concatenated and cut from their
// start; the remainder of each 1,000 is dropped, and all of them when they are shorter than one
// block (there Transformers 4 skips them and 5 stops).
class CausalBuilder {
 public:
  CausalBuilder(const CausalOptions& options, TokenRows& out) : options_(options), out_(out) {}
  void add(std::span<const int32_t> ids);
  void finish();  // closes the last, shorter group of rows
  const CausalCounts& counts() const { return counts_; }

  static constexpr int64_t kGroupRows = 1000;

 private:
  void close_group();

  CausalOptions options_;
  TokenRows& out_;
  CausalCounts counts_;
  std::vector<int32_t> pending_;  // tokens of the group that are in no block yet
  int64_t group_rows_ = 0;
};

// ids[i] becomes the tokens of texts[i], with the special tokens that the tokenizer adds.
using Tokenize = std::function<Status(std::span<const std::string_view> texts,
                                      std::vector<std::vector<int32_t>>& ids)>;

struct CausalData {
  TokenRows rows;
  CausalCounts counts;
};

// Reads, tokenises (some 1,000 rows at a call) and groups.
// Errors: those of the reader and of `tokenize`, H2110, H2113 without rows, H2114 when not even
// one block comes out.
Result<CausalData> read_causal(RowReader& rows, const CausalOptions& options,
                               const Tokenize& tokenize);

}  // namespace hone

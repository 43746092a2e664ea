// Rows of token ids to train on. For causal language models they are made from tokenized text: either as blocks of
// concatenated rows, as in run_clm of Transformers, or with each row of text as a row of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/growing_array.h"
#include "base/core/hash.h"
#include "base/store/mapped_file.h"

namespace hone {

inline constexpr int32_t kIgnoreLabel = -100;  // the label of a token that the loss ignores

// Rows in a memory-mapped file: row i has the tokens ids[offsets[i]] to ids[offsets[i + 1] - 1].
struct RowsView {
  std::shared_ptr<const MappedFile> file;  // keeps the file mapped as long as the view exists
  const int32_t* ids = nullptr;
  const int32_t* offsets = nullptr;  // [rows + 1], ascending from 0
  int64_t rows = 0, tokens = 0;
};

// The place of a row in the user's data: a file and a line, encoded by TokenRows::place_in of the object that the row
// is added to. 0: unknown.
using RowOrigin = uint64_t;

// Rows of token ids, either all in one array in memory, or all in mapped files.
class TokenRows {
 public:
  int64_t size() const { return rows_; }
  int64_t tokens() const;
  int64_t length(int64_t i) const { return static_cast<int64_t>(row(i).size()); }
  std::vector<int64_t> lengths() const;
  std::span<const int32_t> row(int64_t i) const {
    const auto k = static_cast<size_t>(i);
    if (views_.empty())
      return {ids_.data() + offsets_[k], static_cast<size_t>(offsets_[k + 1] - offsets_[k])};
    return viewed_row(i);
  }
  // Appends a row in memory. Throws a Bug if this object has views.
  void add(std::span<const int32_t> ids, RowOrigin place = 0);
  // Appends a copy of row i of `other`, with its place.
  void add_from(const TokenRows& other, int64_t i);
  // Encodes a place for add(): a file, and the 1-based number of a line, or with `is_row` of a row.
  RowOrigin place_in(std::string_view file, int64_t line, bool is_row);
  std::string place_text(int64_t i) const;  // "train.csv:7", "train.parquet row 7"; "": unknown
  // Appends mapped rows; throws a Bug if there are rows in memory.
  void add(RowsView view);
  void keep_first(int64_t rows);  // drops the rows after the first `rows`
  void clear();                   // drops all rows; keeps the memory for later rows
  void shrink() { ids_.shrink_to_fit(), offsets_.shrink_to_fit(), places_.shrink_to_fit(); }
  bool is_mapped() const { return !views_.empty(); }
  // Checks that mapped files have not changed since they were mapped. Call it after you read rows and before you use
  // them: row() returns an empty row if the file no longer holds the row. With `rows`, only the files of these rows are
  // checked fully; for the other files it checks only that no read has failed. Errors: H0117 a file has changed.
  Status check_unchanged() const;
  Status check_unchanged(std::span<const int64_t> rows) const;
  int64_t memory_bytes() const;  // bytes of the rows in memory; mapped rows count as 0

  // The RowsHash of all rows. Reads every token, unless set_hash was called.
  uint64_t hash() const;
  // Sets the result of hash(), until rows are added or dropped.
  void set_hash(uint64_t hash) { hash_ = hash; }

 private:
  size_t view_of(int64_t i) const;
  std::span<const int32_t> viewed_row(int64_t i) const;
  RowOrigin place_of(int64_t i) const;

  int64_t rows_ = 0;
  std::vector<std::string> files_;
  // The places of the first rows; rows after the last entry have no known place.
  std::vector<RowOrigin> places_;
  GrowingArray<int32_t> ids_;
  GrowingArray<int64_t> offsets_ = {0};
  std::vector<RowsView> views_;
  std::vector<int64_t> begins_;  // first row of each view
  std::optional<uint64_t> hash_;
};

// Computes an FNV-1a hash of the lengths and tokens of rows that are added one by one.
class RowsHash {
 public:
  explicit RowsHash(uint64_t begin = kFnvBasis) : value_(begin) {}
  void add(std::span<const int32_t> row) {
    add(static_cast<uint64_t>(row.size()));
    for (const int32_t id : row) add(static_cast<uint64_t>(static_cast<uint32_t>(id)));
  }
  uint64_t value() const { return value_; }

 private:
  void add(uint64_t x) { value_ = fnv1a(value_, x); }
  uint64_t value_;
};

enum class Grouping {
  // As in run_clm: each group of 1,000 consecutive rows is concatenated and cut into blocks of block_size tokens. The
  // tokens after the last full block of a group are dropped.
  kBlocks,
  // Each row stays a row. EOS is appended if the row does not end with it. After that, a row of more than block_size
  // tokens is cut to block_size tokens.
  kRows,
};

struct TextOptions {
  Grouping grouping = Grouping::kBlocks;
  int64_t block_size = 1024;   // tokens of a block; kRows: the largest number of tokens of a row
  std::optional<int32_t> eos;  // kRows: the token to append; none: nothing is appended
  // kRows: when a row is cut, this number of tokens at its end stay, and tokens before them are removed.
  int64_t last_kept = 0;
  // Index of the column, which holds texts, or lists of integers that are token ids.
  size_t column = 0;
  // The range [first_row, end_row) of the reader's rows to use, counted from the reader's position.
  int64_t first_row = 0;
  int64_t end_row = INT64_MAX;
  // For messages: the names of the settings that set block_size and that choose kRows.
  std::string block_name = "`block_size`", apart_name = "`packing`";
};

// Counts on the way from text to rows, for the summary of the run.
struct TextCounts {
  int64_t rows_read = 0;
  int64_t tokens_read = 0;  // before tokens are dropped or appended
  int64_t rows_kept = 0;    // rows or blocks of the result
  int64_t tokens_kept = 0;
  // kBlocks: tokens after the last full block of a group; kRows: tokens cut from rows, and tokens of too short rows.
  int64_t tokens_dropped = 0;
  int64_t rows_cut = 0;  // kRows: rows longer than block_size
  // kRows: rows of fewer than two tokens. They are left out, as they have no token to predict.
  int64_t rows_too_short = 0;
  int64_t eos_appended = 0;  // kRows: rows to which EOS was appended
};

// The whole state of a TextBuilder, to save and to continue from.
struct TextState {
  TextCounts counts;
  std::vector<int32_t> pending;  // kBlocks: tokens of the current group that are not in a block yet
  int64_t group_rows = 0;        // rows of the current group so far
};

// Builds rows or blocks from tokenized rows that are added one by one. Blocks are those of run_clm's group_texts
// under Dataset.map(batched=True): each group of 1,000 consecutive rows is concatenated and cut into blocks, and the
// remainder is dropped. A group shorter than one block is dropped entirely (Transformers 4 does the same;
// Transformers 5 stops with an error).
class TextBuilder {
 public:
  explicit TextBuilder(const TextOptions& options) : options_(options) {}
  // Adds a tokenized row and appends to `out` the rows or blocks that it completes. `place` comes from out.place_in().
  void add(std::span<const int32_t> ids, TokenRows& out, RowOrigin place = 0);
  void finish();  // ends the last group, which may have fewer than 1,000 rows
  const TextState& state() const { return state_; }
  void set_state(TextState state) {
    state_ = std::move(state);
    pending_place_ = 0;
  }

  static constexpr int64_t kGroupRows = 1000;

 private:
  void close_group();

  TextOptions options_;
  TextState state_;
  RowOrigin pending_place_ = 0;  // the place of the row that contains the first token of `pending`
};

}  // namespace hone

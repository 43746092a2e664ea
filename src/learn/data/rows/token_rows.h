// Token rows for causal language models: run_clm's concatenated blocks, or rows kept apart.
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

inline constexpr int32_t kIgnoreLabel = -100;  // the label of a token that no loss counts

// Rows in a mapped file: row i is ids[offsets[i], offsets[i + 1]).
struct RowsView {
  std::shared_ptr<const MappedFile> file;  // kept as long as the view
  const int32_t* ids = nullptr;
  const int32_t* offsets = nullptr;  // [rows + 1], ascending from 0
  int64_t rows = 0, tokens = 0;
};

// The place of a row in the user's data; 0: unknown. Only its own TokenRows can interpret it.
using RowOrigin = uint64_t;

// Sequences of token ids: contiguous in one array, or in files that are mapped.
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
  void add(std::span<const int32_t> ids, RowOrigin place = 0);
  void add_from(const TokenRows& other, int64_t i);  // its row i, with the place
  // `line` of a file from 1, or with `is_row` the number of a row there.
  RowOrigin place_in(std::string_view file, int64_t line, bool is_row);
  std::string place_text(int64_t i) const;  // "train.csv:7", "train.parquet row 7"; "": not known
  void add(RowsView view);                  // after the rows of other views; never with rows of ids
  void keep_first(int64_t rows);            // drops the rows after the first `rows`
  void clear();                             // keeps the memory
  void shrink() { ids_.shrink_to_fit(), offsets_.shrink_to_fit(), places_.shrink_to_fit(); }
  bool is_mapped() const { return !views_.empty(); }
  // H0117 if a mapped file has changed since it was mapped: call it after reading rows and before
  // using them. A row that the file no longer holds is empty. With `rows`, files without these rows
  // are only asked whether one of their reads failed.
  Status check_unchanged() const;
  Status check_unchanged(std::span<const int64_t> rows) const;
  int64_t memory_bytes() const;  // views take none

  // A number of all rows and their boundaries (FNV-1a); reads every token unless it is known.
  uint64_t hash() const;
  void set_hash(uint64_t hash) { hash_ = hash; }  // of all rows, until one is added or dropped

 private:
  size_t view_of(int64_t i) const;
  std::span<const int32_t> viewed_row(int64_t i) const;
  RowOrigin place_of(int64_t i) const;

  int64_t rows_ = 0;
  std::vector<std::string> files_;
  std::vector<RowOrigin> places_;  // of the first rows; those of the others are not known
  GrowingArray<int32_t> ids_;
  GrowingArray<int64_t> offsets_ = {0};
  std::vector<RowsView> views_;
  std::vector<int64_t> begins_;  // first row of each view
  std::optional<uint64_t> hash_;
};

// FNV-1a over rows as they come.
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
  kBlocks,  // run_clm: rows concatenated, blocks of block_size; the rest of each 1,000 rows dropped
  kRows,    // rows apart, cut at block_size, EOS appended unless it is there
};

struct TextOptions {
  Grouping grouping = Grouping::kBlocks;
  int64_t block_size = 1024;
  std::optional<int32_t> eos;  // kRows only
  int64_t last_kept = 0;       // kRows: tokens at the end of a row that stay when it is cut
  size_t column = 0;           // text, or lists of integers that are ids already
  int64_t first_row = 0;       // of the reader's rows from its position: [first_row, end_row)
  int64_t end_row = INT64_MAX;
  // Names of the settings for the length of a block and for keeping rows apart.
  std::string block_name = "`block_size`", apart_name = "`packing`";
};

// Counts on the way from text to rows, for the summary of the run.
struct TextCounts {
  int64_t rows_read = 0;
  int64_t tokens_read = 0;  // before anything is dropped or appended
  int64_t rows_kept = 0;    // sequences or blocks
  int64_t tokens_kept = 0;
  int64_t tokens_dropped = 0;  // kBlocks: remainders; kRows: cut off
  int64_t rows_cut = 0;        // kRows: longer than block_size
  int64_t rows_too_short = 0;  // kRows: fewer than two tokens, which nothing can be learnt from
  int64_t eos_appended = 0;
};

// Tokens that are in no row yet, and counts: the whole state of a TextBuilder.
struct TextState {
  TextCounts counts;
  std::vector<int32_t> pending;  // tokens of the group that are in no block yet
  int64_t group_rows = 0;
};

// Takes tokenised rows one at a time. Blocks are those of run_clm's group_texts under
// Dataset.map(batched=True): every 1,000 consecutive rows are concatenated and cut from their
// start; the remainder of each 1,000 is dropped, and all of them when they are shorter than one
// block (there Transformers 4 skips them and 5 stops).
class TextBuilder {
 public:
  explicit TextBuilder(const TextOptions& options) : options_(options) {}
  // `place` in `out` is that of the row.
  void add(std::span<const int32_t> ids, TokenRows& out, RowOrigin place = 0);
  void finish();  // closes the last, shorter group of rows
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
  RowOrigin pending_place_ = 0;  // of the row with the first token that is in no block yet
};

}  // namespace hone

// Faults of a single row, counted over a split with the place of the first.
#pragma once

#include <array>
#include <functional>
#include <span>

#include "learn/check/finding.h"
#include "learn/check/row_table.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

enum class RowFault : size_t {
#define ROW_FAULT(name, ...) name,
#include "learn/check/row_faults.def"
#undef ROW_FAULT
  kFaults,
};

class RowFaults {
 public:
  void note(RowFault fault, RowPlace place);
  int64_t rows(RowFault fault) const { return seen_[static_cast<size_t>(fault)].rows; }

  // For a text that is not empty.
  void look_at_text(std::string_view text, RowPlace place);
  // `pair`: the row is of two texts. `tokenizer` may be null.
  void look_at_ids(std::span<const int32_t> ids, const Tokenizer* tokenizer, int64_t vocab,
                   bool pair, RowPlace place);
  // For a target: it ends with token `end`, once. Language codes may follow
  // it.
  void look_at_end(std::span<const int32_t> ids, const Tokenizer& tokenizer, int32_t end,
                   RowPlace place);

  struct Telling {
    std::string split;
    int64_t rows = 0;              // of the split
    std::string limit, when_long;  // the limit that long rows exceed, and the remedy
    std::function<std::string(RowPlace)> where;
    std::string when_empty = {};  // the remedy for empty rows; "": that of the table
    std::string side = {};        // of rows of two texts: "sources", "targets"
    bool cuts = true;             // the rest of long rows is lost, not in the next block
  };
  void tell(const Telling& about, Findings& findings) const;

 private:
  struct Seen {
    int64_t rows = 0;
    RowPlace first;
  };
  std::array<Seen, static_cast<size_t>(RowFault::kFaults)> seen_;
};

// A finding if rows are cut, where only their number is known. `flag`: the one to raise.
void tell_cut_rows(const std::string& split, int64_t cut, int64_t rows, int64_t limit,
                   const char* flag, Findings& findings);

bool is_blank(std::string_view text);
// 0 of none.
double percent_of(int64_t rows, int64_t all);

// Copies within training and rows of validation that are training rows too.
void tell_repeated(const RowTable& table, int64_t train_rows, int64_t eval_rows,
                   const std::function<std::string(RowPlace)>& where, const char* metric,
                   Findings& findings);

}  // namespace hone

// Looks for faults in single rows, counts them over a split, and reports each kind with the place of its first row.
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

// The faults of the rows of one split.
class RowFaults {
 public:
  // Counts a row with this fault.
  void note(RowFault fault, RowPlace place);
  // Rows with this fault.
  int64_t rows(RowFault fault) const { return seen_[static_cast<size_t>(fault)].rows; }

  // Looks for faults of a row's text, which must not be empty.
  void look_at_text(std::string_view text, RowPlace place);
  // Looks for faults of a row's token ids. `tokenizer`: may be null. `vocab`: size of the vocabulary. `pair`: the row
  // has two texts.
  void look_at_ids(std::span<const int32_t> ids, const Tokenizer* tokenizer, int64_t vocab,
                   bool pair, RowPlace place);
  // Looks for faults at the end of a target: it must have the token `end` exactly once, at its end. Language codes may
  // follow that token.
  void look_at_end(std::span<const int32_t> ids, const Tokenizer& tokenizer, int32_t end,
                   RowPlace place);

  // Words for the findings.
  struct Telling {
    std::string split;                           // name of the split
    int64_t rows = 0;                            // number of rows of the split
    std::string limit, when_long;                // the limit that long rows exceed, and the remedy
    std::function<std::string(RowPlace)> where;  // text of a place
    std::string when_empty = {};  // the remedy for empty rows; "": the one in row_faults.def
    std::string side = {};        // if rows have two texts: "sources" or "targets"
    bool cuts = true;             // the rest of a long row is lost; false: it is in the next block
  };
  // Adds a finding for each fault that a row has.
  void tell(const Telling& about, Findings& findings) const;

 private:
  struct Seen {
    int64_t rows = 0;
    RowPlace first;
  };
  std::array<Seen, static_cast<size_t>(RowFault::kFaults)> seen_;
};

// Adds a finding if rows of the split are cut (`cut` > 0), for readers that count such rows without their places.
// `rows`: rows of the split. `limit`: largest number of tokens. `flag`: the flag that sets it.
void tell_cut_rows(const std::string& split, int64_t cut, int64_t rows, int64_t limit,
                   const char* flag, Findings& findings);

bool is_blank(std::string_view text);  // empty, or only white space
// rows / all in percent; 0 if `all` is 0.
double percent_of(int64_t rows, int64_t all);

// Adds findings of repeated rows: training rows that appear more than once, and validation rows that are training rows
// too. `train_rows`, `eval_rows`: number of rows of the splits. `where`: text of a place. `metric`: the metric that
// such validation rows distort.
void tell_repeated(const RowTable& table, int64_t train_rows, int64_t eval_rows,
                   const std::function<std::string(RowPlace)>& where, const char* metric,
                   Findings& findings);

}  // namespace hone

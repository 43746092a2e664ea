// Looks for faults in single rows, counts them over a split, and reports each kind with the place of its first row.
#pragma once

#include <array>
#include <functional>
#include <span>

#include "learn/check/finding.h"
#include "learn/check/row_table.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// The kinds of faults. Each has a line in row_faults.def: name, level, id, message and remedy. The last member is the
// number of kinds.
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
  // The number of rows with this fault.
  int64_t rows(RowFault fault) const { return seen_[static_cast<size_t>(fault)].rows; }

  // Looks for faults of a row's text, which must not be empty.
  void look_at_text(std::string_view text, RowPlace place);
  // Looks for faults of a row's token ids. `tokenizer`: null: looks only for ids outside the vocabulary. `vocab`: size
  // of the model's vocabulary. `pair`: true: the row has two texts.
  void look_at_ids(std::span<const int32_t> ids, const Tokenizer* tokenizer, int64_t vocab,
                   bool pair, RowPlace place);
  // Looks for faults at the end of a target. The special tokens at the end of `ids` must include the token `end`
  // exactly once; other special tokens, such as a language code, may be before or after it.
  void look_at_end(std::span<const int32_t> ids, const Tokenizer& tokenizer, int32_t end,
                   RowPlace place);

  // Words for the findings.
  struct Telling {
    std::string split;  // name of the split
    int64_t rows = 0;   // number of rows of the split
    // limit: the limit that long rows exceed, as text. when_long: the remedy for long rows.
    std::string limit, when_long;
    std::function<std::string(RowPlace)> where;  // returns the text of a place
    std::string when_empty = {};  // the remedy for empty rows; "": the one in row_faults.def
    // The text of the row that was checked: "sources" or "targets"; "": rows have one text.
    std::string side = {};
    // True: the rest of a long row is cut off. False: it continues in the next block.
    bool cuts = true;
  };
  // Adds one finding for each kind of fault that at least one row has.
  void tell(const Telling& about, Findings& findings) const;

 private:
  struct Seen {
    int64_t rows = 0;
    RowPlace first;
  };
  std::array<Seen, static_cast<size_t>(RowFault::kFaults)> seen_;
};

// Adds a finding if `cut` is above 0, for readers that count cut rows without their places. `cut`: number of rows of
// the split that are cut. `rows`: number of all its rows. `limit`: the largest number of tokens of a row. `flag`: the
// flag that sets the limit, without dashes.
void tell_cut_rows(const std::string& split, int64_t cut, int64_t rows, int64_t limit,
                   const char* flag, Findings& findings);

// Whether the text is empty or has only spaces, tabs and line breaks.
bool is_blank(std::string_view text);
// rows / all in percent; 0 if `all` is 0.
double percent_of(int64_t rows, int64_t all);

// Adds findings about repeated rows: training rows that appear more than once, and validation rows that are training
// rows too. `train_rows`, `eval_rows`: number of rows of the splits. `where`: returns the text of a place. `metric`:
// name of the metric that is too good because of such validation rows.
void tell_repeated(const RowTable& table, int64_t train_rows, int64_t eval_rows,
                   const std::function<std::string(RowPlace)>& where, const char* metric,
                   Findings& findings);

}  // namespace hone

// Reads rows of preference data, in the forms of the library TRL:
//
//   pairs    chosen and rejected: two answers, of which the first is preferred; optionally prompt and margin
//   labels   prompt, completion and label; the label is true if the completion is wanted
//
// A caller that wants labels may also read files of pairs: each row of pairs then becomes two rows of labels.
// Prompts and answers are texts, or lists of messages (message_cells.h).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "learn/data/rows/message_cells.h"

namespace hone {

struct PreferenceRow {
  OrderedJson prompt;  // null: none
  // In the form labels, `chosen` is the completion and `rejected` is null.
  OrderedJson chosen, rejected;
  OrderedJson tools, kwargs;  // tools and chat_template_kwargs of a chat; null: none
  double margin = 0;          // the value in the column margin; 0 if there is no such column
  bool wanted = true;         // the label, in the form labels
  // The place of the row, as in Row (rows.h); the reader owns the name of the file. `where` is the place as text.
  std::string_view file;
  int64_t line = 0;
  bool line_is_row = false;
  std::string where;
};

class PreferenceReader {
 public:
  struct Wanted {
    bool labels = false;  // true: the form labels; false: pairs
    // true: if pairs have no column prompt, extract_prompt() makes the prompt.
    bool extract_prompt = true;
    RowOptions rows;
  };
  // Opens the files. Errors: those of open_rows; H2113 there are no rows; H2109 the columns do not match the wanted
  // form.
  static Result<PreferenceReader> open(const std::vector<std::string>& files, const Wanted& wanted);

  // Fills `row` with the next row. Returns false after the last row. Errors: those of the reader; H2110 a cell does not
  // hold a value of the kind that the form needs, or the prompt and the answers of a row mix texts and messages.
  Result<bool> next(PreferenceRow& row);
  bool has_margins() const { return margin_.has_value(); }
  const std::string& note() const {
    return note_;
  }  // for the run's summary: "prompt, chosen, rejected"

 private:
  Result<bool> read(PreferenceRow& row);
  Result<bool> next_of_pairs(PreferenceRow& row);
  Status read_label(PreferenceRow& row) const;

  Wanted wanted_;
  std::unique_ptr<RowReader> rows_;
  std::optional<MessageCells> cells_;  // of rows_
  Row row_;
  std::optional<size_t> prompt_, chosen_, rejected_, label_, margin_, tools_, kwargs_;
  std::deque<PreferenceRow> unpaired_;  // rows of labels made from pairs, to return next
  std::string note_;
};

// Moves the common beginning of both answers into the prompt, as TRL's extract_prompt does: whole messages if the
// answers are messages, else characters. A space at the end of the common characters stays in the answers.
void extract_prompt(PreferenceRow& row);

}  // namespace hone

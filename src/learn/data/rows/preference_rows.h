// Rows of preferences, in the forms of TRL:
//
//   pairs    chosen and rejected, and perhaps a prompt before both; margin
//   labels   prompt, completion and label: whether the completion is wanted. Rows of pairs become two
//            rows of labels each
//
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
  OrderedJson prompt;            // null: none
  OrderedJson chosen, rejected;  // of a label: the completion, and null
  OrderedJson tools, kwargs;     // null: none
  double margin = 0;
  bool wanted = true;  // of a label
  // The place: file of the reader, and number of the line or row.
  std::string_view file;
  int64_t line = 0;
  bool line_is_row = false;
  std::string where;
};

class PreferenceReader {
 public:
  struct Wanted {
    bool labels = false;         // else pairs
    bool extract_prompt = true;  // the common beginning of both answers, if there is no prompt
    RowOptions rows;
  };
  // Errors: those of open_rows; H2113 no rows; H2109 no columns of these forms.
  static Result<PreferenceReader> open(const std::vector<std::string>& files, const Wanted& wanted);

  // False after the last row. Errors: those of the reader; H2110 a cell that holds something else, or
  // answers in different forms.
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
  std::deque<PreferenceRow> unpaired_;  // labels of pairs
  std::string note_;
};

// Moves the common beginning of both answers into the prompt, as TRL's extract_prompt: whole messages,
// or characters without a space at their end.
void extract_prompt(PreferenceRow& row);

}  // namespace hone

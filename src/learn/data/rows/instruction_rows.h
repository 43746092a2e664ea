// Reads rows for instruction tuning, in one of four forms. The names of the columns decide the form:
//
//   chat        messages: [{"role": "user", "content": "..."}, ...], or ShareGPT's
//               conversations: [{"from": "human", "value": "..."}, ...]
//   pair        prompt and completion: two texts, or two lists of messages
//   Alpaca      instruction and output, optionally input, system and history
//   text        one text, from the column that the caller names
//
// The columns `tools` and `chat_template_kwargs` are read too if they exist.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/data/rows/message_cells.h"

namespace hone {

struct InstructionRow {
  // Both are lists of messages, or both are texts. `prompt` is null if the form has no prompt (chat, text); `answer` is
  // then the whole row.
  OrderedJson prompt, answer;
  OrderedJson tools;   // the list of tools for the chat template; null: none
  OrderedJson kwargs;  // chat_template_kwargs, an object; null: none
  // Alpaca rows only: prompt and answer as texts, in the prompt format of
  // https://github.com/tatsu-lab/stanford_alpaca, for models without a chat template. "" in other rows.
  std::string plain_prompt, plain_answer;
  bool is_chat() const { return answer.is_array(); }
};

class InstructionReader {
 public:
  // Opens the files. `text_column` is the column of the form `text`. Errors: those of open_rows; H2113 there are no
  // rows; H2109 the columns match none of the forms.
  static Result<InstructionReader> open(const std::vector<std::string>& files,
                                        const RowOptions& options, const std::string& text_column);

  // Fills `row` with the next row. Returns false after the last row. Errors: those of the reader; H2110 a cell does not
  // hold a value of the kind that the form needs; H2123 the answer is empty.
  Result<bool> next(InstructionRow& row);
  // The row of the file that next() read last; callers use its file and line in messages.
  const Row& row() const { return row_; }
  const std::string& note() const { return note_; }  // for the run's summary: "chats from messages"
  // The names of the columns of the texts: the column of the form text, or the two columns of prompt and answer of the
  // forms pair (even if these hold messages) and Alpaca. Empty for the form chat.
  std::vector<std::string> text_columns() const;

 private:
  enum class Form { chat, pair, alpaca, text };

  Status read_alpaca(InstructionRow& row);

  std::unique_ptr<RowReader> rows_;
  std::optional<MessageCells> cells_;  // of rows_
  Row row_;
  Form form_ = Form::text;
  // The columns of the form: messages, or prompt and completion, or instruction and output, or text.
  size_t first_ = 0, second_ = 0;
  std::optional<size_t> input_, system_, history_, tools_, kwargs_;
  std::string note_;
};

}  // namespace hone

// Rows to tune a model on instructions with, in the forms that the field knows:
//
//   chat                 messages: [{"role": "user", "content": "..."}, ...], with tools beside it perhaps;
//                        or ShareGPT's conversations: [{"from": "human", "value": "..."}, ...]
//   prompt, completion   two texts, or two lists of messages
//   Alpaca               instruction, input, output, and perhaps system and history
//   text                 one text, from the column that is asked for
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/data/rows/message_cells.h"

namespace hone {

struct InstructionRow {
  // Messages, or one text each. `prompt` is null if the row has none; the whole row is then
  // `answer`.
  OrderedJson prompt, answer;
  OrderedJson tools;   // null: none
  OrderedJson kwargs;  // chat_template_kwargs; null: none
  // Prompt and answer of an Alpaca row in the prompt format of
  // https://github.com/tatsu-lab/stanford_alpaca, for models without a chat template; "": other
  // rows.
  std::string plain_prompt, plain_answer;
  bool is_chat() const { return answer.is_array(); }
};

class InstructionReader {
 public:
  // Errors: those of open_rows; H2113 no rows; H2109 no columns of these forms.
  static Result<InstructionReader> open(const std::vector<std::string>& files,
                                        const RowOptions& options, const std::string& text_column);

  // False after the last row; where() is its place. Errors: those of the reader; H2110 a cell that holds
  // something else; H2123 nothing to answer with.
  Result<bool> next(InstructionRow& row);
  const Row& row() const { return row_; }
  const std::string& note() const { return note_; }  // for the run's summary: "chats from messages"
  // Columns of the rows that have texts; none of chats. Prompts and completions may be either.
  std::vector<std::string> text_columns() const;

 private:
  enum class Form { chat, pair, alpaca, text };

  Status read_alpaca(InstructionRow& row);

  std::unique_ptr<RowReader> rows_;
  std::optional<MessageCells> cells_;  // of rows_
  Row row_;
  Form form_ = Form::text;
  size_t first_ = 0, second_ = 0;  // messages; prompt and completion; instruction and output; text
  std::optional<size_t> input_, system_, history_, tools_, kwargs_;
  std::string note_;
};

}  // namespace hone

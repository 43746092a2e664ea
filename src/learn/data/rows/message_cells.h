// Reads the cells of chat data: a list of messages, a text, or JSON. A message is an object with the keys `role` and
// `content`, or in ShareGPT's form `from` and `value`.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/data/formats/rows.h"

namespace hone {

class MessageCells {
 public:
  // `rows` must outlive this object; its rows are the arguments of the functions. `advice` tells the user how to write
  // such cells; every error H2110 ends with it.
  MessageCells(const RowReader& rows, std::string advice)
      : rows_(&rows), advice_(std::move(advice)) {}

  // The list of messages in a cell, each an object with `role` (a text) and `content` (a text, a list of parts, or
  // null). ShareGPT's keys are replaced: `value` becomes `content`, and `from` becomes `role`. Its names of roles are
  // replaced too: "human" becomes "user", "gpt" and "function_call" become "assistant", and "observation" becomes
  // "tool". Errors: H2110 the cell does not hold a list of messages.
  Result<OrderedJson> messages(const Row& row, size_t column) const;
  // messages() if the cell holds a nested value, else text() as a JSON string. Errors: H2110 the cell holds neither a
  // list of messages nor text.
  Result<OrderedJson> value(const Row& row, size_t column) const;
  // The text of a cell; "" for null. Errors: H2110 the cell holds any other type.
  Result<std::string> text(const Row& row, size_t column) const;
  // The JSON value of a cell that holds a nested value, or a text that is JSON. Errors: H2110 the cell holds something
  // else; the message names `needed`, such as "a list of tools".
  Result<OrderedJson> json(const Row& row, size_t column, const char* needed) const;

  // Makes error H2110 for a cell, with the message `what`, the result of place() and the advice.
  Error wrong(const Row& row, size_t column, const std::string& what) const;
  std::string place(const Row& row, size_t column) const;  // "train.jsonl:3, column 'prompt'"

 private:
  const RowReader* rows_;
  std::string advice_;
};

bool is_null_cell(const Cell& cell);

}  // namespace hone

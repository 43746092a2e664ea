// Cells of data files that hold chats: a list of messages, as role and content or ShareGPT's from and
// value; a text; any JSON.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/data/formats/rows.h"

namespace hone {

class MessageCells {
 public:
  // `advice`: what to do about a cell that holds something else. `rows` must outlive it.
  MessageCells(const RowReader& rows, std::string advice)
      : rows_(&rows), advice_(std::move(advice)) {}

  // The value of a cell. Errors: H2110, which names the column and the place.
  Result<OrderedJson> messages(const Row& row, size_t column) const;
  Result<OrderedJson> value(const Row& row, size_t column) const;  // a text, or messages
  Result<std::string> text(const Row& row, size_t column) const;
  Result<OrderedJson> json(const Row& row, size_t column, const char* needed) const;

  Error wrong(const Row& row, size_t column, const std::string& what) const;
  std::string place(const Row& row, size_t column) const;  // "train.jsonl:3, column 'prompt'"

 private:
  const RowReader* rows_;
  std::string advice_;
};

bool is_null_cell(const Cell& cell);

}  // namespace hone

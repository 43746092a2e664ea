// Reads rows of text from a file in order. Lines of jsonl are returned unparsed, so that several threads can parse them
// (text_parser.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// A row. Use the same item for all rows, so that its strings keep their memory.
struct TextItem {
  std::string text;                 // the text; if is_json, the whole line
  std::optional<std::string> pair;  // the second text of a pair; none if is_json
  // 1-based number of the line; in formats without lines, of the row.
  int64_t line = 0;
  bool is_json = false;  // `text` is an unparsed line of jsonl

  void reset() {
    text.clear();
    pair.reset();
  }
};

struct TextInputOptions {
  std::string file = "-";  // a data file; "-": jsonl from standard input
  // The column of the text; "": `text`, else (except in jsonl) the first column.
  std::string column = "";
  std::string pair = "text_pair";  // the column of the second text; rows may lack it
  // The names of the columns of a csv or tsv file without a header line.
  std::vector<std::string> column_names = {};
  std::string name() const { return file == "-" ? "standard input" : file; }
  std::string column_name() const { return column.empty() ? "text" : column; }
};

class TextInput {
 public:
  virtual ~TextInput() = default;
  // Fills `item` with the next row. Returns false after the last row. Errors: those of data files.
  virtual Result<bool> next(TextItem& item) = 0;
};

// Opens the file. Errors: H2101 the file does not exist; H2102 it cannot be read; H2109 there is no such column, or the
// column holds numbers; H2113 there are no rows; those of the format.
Result<std::unique_ptr<TextInput>> open_text_input(const TextInputOptions& options);

}  // namespace hone

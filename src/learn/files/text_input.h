// Rows of text of a file, in order. Lines of jsonl are handed out unparsed, so that many threads
// can parse them (text_parser.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// Items are reused, so that their strings keep their memory.
struct TextItem {
  std::string text;  // a line of jsonl, or the text
  std::optional<std::string> pair;
  int64_t line = 0;
  bool is_json = false;

  void reset() {
    text.clear();
    pair.reset();
  }
};

struct TextInputOptions {
  std::string file = "-";          // jsonl or any data file; "-": jsonl from standard input
  std::string column = "";         // of the text; "": text, or the first one of other data files
  std::string pair = "text_pair";  // column of the second text; rows may lack it
  std::vector<std::string> column_names = {};  // of csv and tsv files without a header line
  std::string name() const { return file == "-" ? "standard input" : file; }
  std::string column_name() const { return column.empty() ? "text" : column; }
};

class TextInput {
 public:
  virtual ~TextInput() = default;
  // False after the last row. Errors: those of data files.
  virtual Result<bool> next(TextItem& item) = 0;
};

// Errors: H2101, H2102, H2109, H2113.
Result<std::unique_ptr<TextInput>> open_text_input(const TextInputOptions& options);

}  // namespace hone

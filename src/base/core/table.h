// Tables for people and programs. A table for people fits a width: columns that matter least are left out, long names
// and paths lose their middle, hashes their end, and long sentences are wrapped.
//   TextTable t({{.name = "run", .kind = Column::kName}, {.name = "loss", .kind = Column::kNumber}});
//   t.add({"first", "1.25"});
//   print_out(t.text(output_width()));
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone {

struct Column {
  // The kind of the column's cells decides how they are shown in a table that must fit a width. kWord, kNumber: never
  // cut. kName: loses its middle if it is too long. kHash: is cut to 12 digits. kSentence: is wrapped. Numbers align
  // right in text and Markdown.
  enum Kind { kWord, kNumber, kName, kHash, kSentence };
  // The cell of a column of numbers that text() marks with "*": that of the largest number, of the smallest, or none.
  enum Best { kNone, kLargest, kSmallest };
  std::string name;
  Kind kind = kWord;
  int priority = 0;  // 0: never left out; the column with the largest priority is left out first
  Best best = kNone;
};

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells);  // a row, one cell for each column; "": unknown
  bool empty() const { return rows_.empty(); }
  // Sets a sentence that callers print below the table for people; "": none. text() does not include it.
  void set_note(std::string note) { note_ = std::move(note); }
  const std::string& note() const { return note_; }

  // The table for people, with the names of the columns in its first line. Lines are at most `width` terminal columns
  // wide, unless the columns of priority 0 need more. `width` 0: nothing is cut. Columns without any value are left
  // out.
  std::string text(int width) const;
  // Describes the missing parts of text(width): the names of columns with values that are left out, and "the middle of
  // NAME" for columns in which a cell loses its middle.
  std::vector<std::string> left_out(int width) const;
  std::string csv() const;       // all columns with all of their text
  std::string markdown() const;  // all columns with all of their text

 private:
  struct Layout;
  Layout layout(int width) const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::string note_;
};

// The width in columns of the terminal on standard output; else of that on standard error; else 80.
int output_width();

// The number of terminal columns that a UTF-8 text takes; East Asian wide characters and emoji take two.
int text_width(std::string_view text);
// Cuts a text to at most `width` columns: "…" replaces its middle. A path loses whole parts if possible:
// "/home/me/…/run/model".
std::string without_middle(const std::string& text, int width);
// Cuts a hash in lowercase hexadecimal to 12 digits; a prefix stays: "sha256:0123456789ab". Other texts are returned
// unchanged.
std::string short_hash(const std::string& text);

}  // namespace hone

// Tables for people and programs. A table for people fits a width: columns that matter least are left
// out, names and paths lose their middle, hashes their end, sentences continue below.
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
  // The kind of a cell decides what is cut if there is no room: a word or number is never cut, a name
  // loses its middle, a hash all after twelve digits; a sentence is wrapped. Numbers align right.
  enum Kind { kWord, kNumber, kName, kHash, kSentence };
  // The value that is marked as the best of a column of numbers.
  enum Best { kNone, kLargest, kSmallest };
  std::string name;
  Kind kind = kWord;
  int priority = 0;  // 0: always there; columns with larger ones are left out first
  Best best = kNone;
};

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells);  // one a column; "": unknown
  bool empty() const { return rows_.empty(); }
  // A sentence for people that belongs below the table; "": none.
  void set_note(std::string note) { note_ = std::move(note); }
  const std::string& note() const { return note_; }

  // Lines are at most `width` terminal columns wide, unless the columns of priority 0 need more.
  // `width` 0: all columns, uncut. Columns without any value are left out.
  std::string text(int width) const;
  // The names of the columns with values that text(width) leaves out, and "the middle of NAME" for those
  // with a cell that loses it.
  std::vector<std::string> left_out(int width) const;
  std::string csv() const;       // all columns, uncut
  std::string markdown() const;  // all columns, uncut

 private:
  struct Layout;
  Layout layout(int width) const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::string note_;
};

// The columns of the terminal on standard output, else on standard error, else 80.
int output_width();

// Columns of a terminal that a text takes; wide characters take two.
int text_width(std::string_view text);
// "/home/me/…/run/model": at most `width` columns, from both ends.
std::string without_middle(const std::string& text, int width);
// "sha256:0123456789ab" of a hash; other texts unchanged.
std::string short_hash(const std::string& text);

}  // namespace hone

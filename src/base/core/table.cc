#include "base/core/table.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <utility>

#include "base/core/error.h"
#include "base/core/log_wrap.h"
#include "base/core/text.h"

namespace hone {
namespace {

constexpr int kUsualWidth = 80, kLeastWidth = 20, kGap = 2;
constexpr int kLeastName = 10, kLeastSentence = 16, kLongestWord = 24;
constexpr size_t kHashDigits = 12;

bool is_wide(uint32_t c) {
  constexpr std::pair<uint32_t, uint32_t> kWide[] = {
      {0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
      {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};
  return std::any_of(std::begin(kWide), std::end(kWide),
                     [c](const auto& range) { return c >= range.first && c <= range.second; });
}

// The character at `at`, with its bytes and columns; a byte that is not UTF-8 counts as one.
struct Character {
  size_t bytes = 1;
  int columns = 1;
};
Character character_at(std::string_view text, size_t at) {
  const int length = utf8_length(text.substr(at));
  if (length <= 1) return {};
  uint32_t code = static_cast<unsigned char>(text[at]) & (0xffu >> (length + 1));
  for (int i = 1; i < length; ++i)
    code = code << 6 | (static_cast<unsigned char>(text[at + static_cast<size_t>(i)]) & 0x3fu);
  return {static_cast<size_t>(length), is_wide(code) ? 2 : 1};
}

// The longest beginning of at most `width` columns.
std::string_view beginning(std::string_view text, int width) {
  size_t at = 0;
  for (int columns = 0; at < text.size();) {
    const Character c = character_at(text, at);
    if ((columns += c.columns) > width) break;
    at += c.bytes;
  }
  return text.substr(0, at);
}

// The longest end of at most `width` columns.
std::string_view ending(std::string_view text, int width) {
  size_t at = 0;
  for (int all = text_width(text); all > width;) {
    const Character c = character_at(text, at);
    all -= c.columns;
    at += c.bytes;
  }
  return text.substr(at);
}

// Lines of at most `width` columns, broken at blanks, and within a word only if it is longer and no path or
// address, which is copied whole.
std::vector<std::string> wrapped(const std::string& text, int width) {
  std::vector<std::string> lines;
  std::string line;
  for (std::string word : split(text, ' ')) {
    if (!line.empty() && text_width(line) + 1 + text_width(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    while (line.empty() && text_width(word) > width && word.find('/') == word.npos) {
      const std::string_view head = beginning(word, std::max(2, width));
      lines.emplace_back(head);
      word.erase(0, head.size());
    }
    line += (line.empty() ? "" : " ") + word;
  }
  lines.push_back(std::move(line));
  return lines;
}

// A path without parts of its middle: "/home/…/train", or "…/train"; nothing if its last part does not fit.
std::optional<std::string> without_middle_parts(const std::string& path, int width) {
  size_t tail = path.rfind('/');
  const auto fits = [&](size_t at) {
    return at != std::string::npos && text_width(path.substr(at)) < width;
  };
  if (!fits(tail)) return std::nullopt;
  for (size_t at; tail > 0 && fits(at = path.rfind('/', tail - 1));) tail = at;
  const std::string end = "…" + path.substr(tail);
  std::string head(beginning(path.substr(0, tail), width - text_width(end)));
  head.resize(head.rfind('/') + 1);
  return (head == "/" ? "" : head) + end;
}

// Line ends, and what would move a terminal's cursor, become blanks.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

// The smallest width that a cell can be shown in: words of usual length stay whole.
int least_width(const Column& column, const std::string& cell) {
  const int whole = text_width(cell);
  if (column.kind == Column::kName) return std::min(whole, kLeastName);
  if (column.kind != Column::kSentence) return whole;
  int longest = kLeastSentence;
  for (const std::string& word : split(cell, ' ')) longest = std::max(longest, text_width(word));
  return std::min({whole, longest, kLongestWord});
}

std::optional<double> cell_number(const std::string& cell) {
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  return cell.empty() || *end != '\0' ? std::nullopt : std::optional(value);
}

// If the numbers of a column differ, its best ones get a mark and the other cells a blank.
void mark_best(const Column& column, size_t c, std::vector<std::vector<std::string>>& cells) {
  if (column.best == Column::kNone) return;
  std::optional<double> best, worst;
  for (size_t i = 1; i < cells.size(); ++i) {
    const auto value = cell_number(cells[i][c]);
    const auto is_better = [&](double a, double b) {
      return column.best == Column::kLargest ? a > b : a < b;
    };
    if (!value) continue;
    if (!best || is_better(*value, *best)) best = value;
    if (!worst || is_better(*worst, *value)) worst = value;
  }
  if (best == worst) return;
  for (size_t i = 1; i < cells.size(); ++i)
    cells[i][c] += cell_number(cells[i][c]) == best ? "*" : " ";
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : text) cell += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
  return cell;
}

}  // namespace

int output_width() {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
    if (const int columns = static_cast<int>(terminal_columns(fd)); columns >= kLeastWidth)
      return columns;
  return kUsualWidth;
}

int text_width(std::string_view text) {
  int columns = 0;
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    columns += c.columns;
    at += c.bytes;
  }
  return columns;
}

std::string without_middle(const std::string& text, int width) {
  if (text_width(text) <= width) return text;
  if (auto path = without_middle_parts(text, width)) return std::move(*path);
  const int tail = (width - 1) * 2 / 3;  // the end of a path says most
  return std::string(beginning(text, width - 1 - tail)) + "…" + std::string(ending(text, tail));
}

std::string short_hash(const std::string& text) {
  const size_t colon = text.find(':'), first = colon == std::string::npos ? 0 : colon + 1;
  const bool digits = text.find_first_not_of("0123456789abcdef", first) == std::string::npos;
  return digits && text.size() > first + kHashDigits ? text.substr(0, first + kHashDigits) : text;
}

void TextTable::add(std::vector<std::string> cells) {
  HONE_BUG_IF(cells.size() != columns_.size(), "{} cells for {} columns", cells.size(),
              columns_.size());
  rows_.push_back(std::move(cells));
}

// The shown columns and their widths.
struct TextTable::Layout {
  std::vector<std::vector<std::string>> cells;  // as text, all columns; the first row has the names
  std::vector<size_t> shown;
  std::vector<int> widths;  // of all columns
  int total() const {
    int sum = 0;
    for (const size_t c : shown) sum += widths[c] + kGap;
    return std::max(0, sum - kGap);
  }
};

TextTable::Layout TextTable::layout(int width) const {
  Layout l;
  l.cells.emplace_back();
  for (const Column& c : columns_) l.cells[0].push_back(c.name);
  l.cells.insert(l.cells.end(), rows_.begin(), rows_.end());
  std::vector<int> least(columns_.size()), whole(columns_.size());
  for (size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    for (size_t i = 1; i < l.cells.size(); ++i) {
      std::string& cell = l.cells[i][c] = one_line(std::move(l.cells[i][c]));
      if (column.kind == Column::kHash && width > 0) cell = short_hash(cell);
    }
    mark_best(column, c, l.cells);
    for (size_t i = 1; i < l.cells.size(); ++i) {
      const std::string& cell = l.cells[i][c];
      whole[c] = std::max(whole[c], text_width(cell));
      least[c] = std::max(least[c], least_width(column, cell));
    }
    if (std::all_of(rows_.begin(), rows_.end(), [&](const auto& row) { return row[c].empty(); }))
      continue;
    whole[c] = std::max(whole[c], text_width(column.name));
    least[c] = std::max(least[c], text_width(column.name));
    l.shown.push_back(c);
  }
  l.widths = width > 0 ? least : whole;
  if (width == 0) return l;
  while (l.total() > width) {
    // The last one of equal ones.
    const auto last = std::max_element(l.shown.rbegin(), l.shown.rend(), [&](size_t a, size_t b) {
      return columns_[a].priority < columns_[b].priority;
    });
    if (last == l.shown.rend() || columns_[*last].priority == 0) break;
    l.shown.erase(std::next(last).base());
  }
  // Room that is left goes to the columns that lack most, a column of the terminal at a time.
  for (int room = width - l.total(); room > 0; --room) {
    const auto lacks = [&](size_t c) { return whole[c] - l.widths[c]; };
    const auto most = std::max_element(l.shown.begin(), l.shown.end(), [&](size_t a, size_t b) {
      const bool sa = columns_[a].kind == Column::kSentence,
                 sb = columns_[b].kind == Column::kSentence;
      if (sa != sb && lacks(a) > 0 && lacks(b) > 0) return sa;  // names before sentences
      return lacks(a) < lacks(b);
    });
    if (most == l.shown.end() || lacks(*most) <= 0) break;
    ++l.widths[*most];
  }
  return l;
}

std::vector<std::string> TextTable::left_out(int width) const {
  const Layout all = layout(0), some = layout(width);
  std::vector<std::string> names;
  for (const size_t c : all.shown)
    if (std::find(some.shown.begin(), some.shown.end(), c) == some.shown.end())
      names.push_back(columns_[c].name);
  for (const size_t c : some.shown)
    if (columns_[c].kind == Column::kName && some.widths[c] < all.widths[c])
      names.push_back("the middle of " + columns_[c].name);
  return names;
}

std::string TextTable::text(int width) const {
  const Layout l = layout(width);
  std::string text;
  for (const auto& row : l.cells) {
    std::vector<std::vector<std::string>> lines;  // of each column that is shown
    size_t height = 1;
    for (const size_t c : l.shown) {
      if (columns_[c].kind == Column::kSentence)
        lines.push_back(wrapped(row[c], l.widths[c]));
      else if (columns_[c].kind == Column::kName)
        lines.push_back({without_middle(row[c], l.widths[c])});
      else
        lines.push_back({row[c]});
      height = std::max(height, lines.back().size());
    }
    for (size_t i = 0; i < height; ++i) {
      std::string line;
      for (size_t s = 0; s < l.shown.size(); ++s) {
        const size_t c = l.shown[s];
        const std::string cell = i < lines[s].size() ? lines[s][i] : "";
        const std::string room(static_cast<size_t>(std::max(0, l.widths[c] - text_width(cell))),
                               ' ');
        const bool right = columns_[c].kind == Column::kNumber;
        line += (right ? room + cell : cell + room) + std::string(kGap, ' ');
      }
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
  }
  return text;
}

std::string TextTable::csv() const {
  std::string text;
  const auto add = [&](const auto& cells) {
    std::vector<std::string> line;
    for (const std::string& cell : cells) line.push_back(csv_cell(cell));
    text += join(line, ",") + "\n";
  };
  std::vector<std::string> names;
  for (const Column& c : columns_) names.push_back(c.name);
  add(names);
  for (const auto& row : rows_) add(row);
  return text;
}

std::string TextTable::markdown() const {
  std::string text = "|", rule = "|";
  for (const Column& c : columns_) {
    text += " " + markdown_cell(c.name) + " |";
    rule += c.kind == Column::kNumber ? "---:|" : "---|";
  }
  text += "\n" + rule + "\n";
  for (const auto& row : rows_) {
    text += "|";
    for (const std::string& cell : row) text += " " + markdown_cell(cell) + " |";
    text += "\n";
  }
  return text;
}

}  // namespace hone

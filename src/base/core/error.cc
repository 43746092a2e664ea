#include "base/core/error.h"

#include <algorithm>

namespace hone {

struct Error::Said {
  ErrorCode code;
  std::string what;
  std::vector<std::string> at;
  std::string todo;
};

Error::Error(const ErrorCode& code, std::string_view what)
    : said_(new Said{code, std::string(what), {}, {}}) {}
Error::Error(const Error& from) : said_(from.said_ ? new Said(*from.said_) : nullptr) {}
void Error::forget() { delete said_; }

Error::Said& Error::said() const {
  HONE_BUG_IF(!said_, "an error was asked for that is not there");
  return *said_;
}

Error& Error::at(std::string_view where) & {
  said().at.emplace_back(where);
  return *this;
}
Error& Error::todo(std::string_view remedy) & {
  said().todo = remedy;
  return *this;
}
ErrorCode Error::error_code() const { return said().code; }
bool Error::is(const ErrorCode& code) const { return std::string_view(said().code.id) == code.id; }
const std::string& Error::what() const { return said().what; }
const std::vector<std::string>& Error::where() const { return said().at; }
const std::string& Error::remedy() const { return said().todo; }

std::string Error::text() const {
  const Said& s = said();
  std::string text = fmt::format("{}  {}", s.code.id, s.what);
  for (const std::string& a : s.at) text += "\n  at   " + a;
  if (!s.todo.empty()) text += "\n  do   " + s.todo;
  return text;
}

void throw_no_value(const Error& error) { throw Bug("unchecked error: " + error.text()); }

void throw_bug(const char* file, int line, std::string message) {
  throw Bug(fmt::format("{} ({}:{})", message, file, line));
}

namespace {
// Insertions, deletions, replacements and exchanges of neighbours, each counted as one.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}
}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& c : candidates) {
    size_t d = edit_distance(word, c);
    if (d < best_distance) {
      best_distance = d;
      best = c;
    }
  }
  return best;
}

}  // namespace hone

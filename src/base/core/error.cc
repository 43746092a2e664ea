#include "base/core/error.h"

#include <algorithm>

namespace hone {

std::string Error::text() const {
  std::string s = fmt::format("{}  {}", code_.id, what_);
  for (const std::string& a : at_) s += "\n  at   " + a;
  if (!todo_.empty()) s += "\n  do   " + todo_;
  return s;
}

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

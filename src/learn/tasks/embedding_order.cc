#include "learn/tasks/embedding_order.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>

namespace hone {
namespace {

// The numbers of the texts of each row; equal texts have one number, in any column.
struct NumberedTexts {
  size_t columns = 0;
  std::vector<int32_t> numbers;
  std::span<const int32_t> of_row(int64_t row) const {
    return std::span(numbers).subspan(static_cast<size_t>(row) * columns, columns);
  }
};

std::shared_ptr<const NumberedTexts> numbered(const TableOfTexts& table) {
  auto out = std::make_shared<NumberedTexts>();
  out->columns = table.columns.size();
  std::unordered_map<std::string_view, int32_t> known;
  for (size_t i = 0; i < static_cast<size_t>(table.rows()); ++i)
    for (size_t c = 0; c < out->columns; ++c)
      out->numbers.push_back(
          known.try_emplace(table.texts[c][i], static_cast<int32_t>(known.size())).first->second);
  return out;
}

}  // namespace

std::function<void(std::span<int64_t>, int64_t)> apart_from_duplicates(const TableOfTexts& table) {
  return [texts = numbered(table)](std::span<int64_t> order, int64_t step_rows) {
    std::deque<int64_t> left(order.begin(), order.end()), waiting;
    std::unordered_set<int32_t> taken;
    size_t at = 0;
    while (at < order.size()) {
      const size_t end = std::min(at + static_cast<size_t>(step_rows), order.size());
      taken.clear();
      waiting.clear();
      for (; at < end && !left.empty(); left.pop_front()) {
        const auto own = texts->of_row(left.front());
        if (std::any_of(own.begin(), own.end(), [&](int32_t n) { return taken.contains(n); })) {
          waiting.push_back(left.front());
          continue;
        }
        taken.insert(own.begin(), own.end());
        order[at++] = left.front();
      }
      left.insert(left.begin(), waiting.begin(), waiting.end());
      for (; at < end; left.pop_front()) order[at++] = left.front();
    }
  };
}

}  // namespace hone

#include "learn/harness/run/not_finite_rows.h"

#include <algorithm>
#include <numeric>

namespace hone {
namespace {

// The axis of the shape with this size; none if no axis has it, or two have.
std::optional<size_t> axis_of_size(const BatchShape& shape, int64_t size) {
  std::optional<size_t> axis;
  for (size_t a = 0; a < shape.axes.size(); ++a) {
    if (shape.axes[a].size != size || shape.axes[a].name == kLabels) continue;
    if (axis) return {};
    axis = a;
  }
  return axis;
}

}  // namespace

std::vector<size_t> rows_that_hold(const NotFinite& found, const CollatedRows& rows,
                                   const BatchShape& shape, std::span<const int64_t> weights) {
  const std::span<const int64_t> given = rows.rows.rows;
  std::vector<size_t> all(given.size());
  std::iota(all.begin(), all.end(), size_t{0});
  if (found.shape.empty()) return all;
  const int64_t size = found.shape[0];
  const bool may_be_weight = found.phase != Phase::forward &&
                             std::find(weights.begin(), weights.end(), size) != weights.end();
  const std::optional<size_t> axis = axis_of_size(shape, size);
  if (!axis || may_be_weight) return all;
  std::vector<size_t> some;
  int64_t begin = 0;
  auto at = found.slices.begin();
  for (size_t i = 0; i < given.size(); ++i) {
    const bool tokens = *axis < rows.data.axes.size();
    const int64_t end = begin + (tokens ? rows.data.axes[*axis].length(given[i]) : 1);
    at = std::lower_bound(at, found.slices.end(), begin);
    if (at != found.slices.end() && *at < end) some.push_back(i);
    begin = end;
  }
  return some.empty() ? all : some;  // the value is in the slack
}

std::vector<std::string> places_of(const CollatedRows& rows, std::span<const size_t> which) {
  constexpr size_t kMost = 4;
  std::vector<std::string> places;
  for (size_t k = 0; k < which.size(); ++k) {
    if (places.size() == kMost && which.size() > k + 1) {
      places.push_back(fmt::format("and {} rows more", which.size() - k));
      break;
    }
    const int64_t row = rows.rows.rows[which[k]];
    std::string place = rows.data.axes[0].place_text(row);
    if (place.empty())
      place = fmt::format("row {} of the training rows", rows.rows.number(row) + 1);
    if (places.empty() || places.back() != place)  // several blocks of one line
      places.push_back(std::move(place));
  }
  return places;
}

}  // namespace hone

#include "learn/data/batches/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/core/error.h"

namespace hone {
namespace {

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Tokens of the `rows` longest together.
int64_t longest_together(std::span<const int64_t> lengths, int64_t rows) {
  std::vector<int64_t> sorted(lengths.begin(), lengths.end());
  const auto most = sorted.begin() + std::min<int64_t>(rows, std::ssize(sorted));
  std::partial_sort(sorted.begin(), most, sorted.end(), std::greater<>());
  return std::accumulate(sorted.begin(), most, int64_t{0});
}

// The sizes of one axis, ascending, and how many rows and sequences they are for.
struct AxisSizes {
  std::vector<int64_t> sizes;
  int64_t max_rows = 0, sequences = 0;

  int64_t at_least(double share) const {
    const auto wanted = static_cast<int64_t>(std::ceil(static_cast<double>(sizes.back()) * share));
    return *std::lower_bound(sizes.begin(), sizes.end(), wanted);
  }
  int64_t from_end(size_t k) const {
    return sizes[sizes.size() - 1 - std::min(k, sizes.size() - 1)];
  }
};

AxisSizes choose_sizes(std::span<const int64_t> lengths, int64_t rows, int64_t remainder_rows,
                       bool whole) {
  HONE_BUG_IF(lengths.empty() || rows < 1, "{} lengths, {} rows", lengths.size(), rows);
  AxisSizes axis;
  const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
  if (*shortest == *longest) {
    axis.max_rows = axis.sequences = rows;
    if (remainder_rows > 0 && remainder_rows < rows)
      axis.sizes.push_back(remainder_rows * *longest);
    axis.sizes.push_back(rows * *longest);
    return axis;
  }
  double sum = 0, squares = 0;
  for (const int64_t n : lengths) {
    sum += static_cast<double>(n);
    squares += static_cast<double>(n) * static_cast<double>(n);
  }
  const double mean = sum / static_cast<double>(lengths.size());
  const double deviation =
      std::sqrt(std::max(0.0, squares / static_cast<double>(lengths.size()) - mean * mean));
  const auto k = static_cast<double>(rows);
  const auto wanted = static_cast<int64_t>(std::ceil(k * mean + deviation * std::sqrt(k)));
  const int64_t full = round_up(std::clamp(wanted, *longest, rows * *longest), 64);
  const auto part_of = [](int64_t tokens, double part) {
    return round_up(static_cast<int64_t>(std::ceil(static_cast<double>(tokens) * part)), 64);
  };
  if (whole) {
    // Most steps need at most `full`; the largest size is for the rest of them.
    const int64_t most = round_up(longest_together(lengths, rows), 64);
    axis.sizes = {std::min(part_of(full, 0.4), most),        std::min(part_of(full, 0.7), most),
                  std::min(part_of(full, 0.85), most),       std::min(full, most),
                  part_of(std::min(full, most) + most, 0.5), most};
    axis.max_rows = rows;
  } else {
    // Most micro-batches are nearly full: sizes are close there, so that little runs on slack.
    for (const double part : {1.0, 0.9, 0.8, 0.7, 0.4, 0.2})
      axis.sizes.push_back(part_of(full, part));
    axis.max_rows = 2 * rows;
  }
  std::sort(axis.sizes.begin(), axis.sizes.end());
  axis.sizes.erase(std::unique(axis.sizes.begin(), axis.sizes.end()), axis.sizes.end());
  axis.sequences = axis.max_rows + 1;
  return axis;
}

// Sizes by axis, of several axes; the full ones last.
std::vector<std::vector<int64_t>> combined_sizes(const std::vector<AxisSizes>& axes, bool whole) {
  std::vector<std::vector<int64_t>> all;
  const auto sizes_by = [&](auto size_of) {
    std::vector<int64_t> sizes;
    for (size_t a = 0; a < axes.size(); ++a) sizes.push_back(size_of(a));
    return sizes;
  };
  const auto add = [&](auto size_of) {
    std::vector<int64_t> sizes = sizes_by(size_of);
    if (std::find(all.begin(), all.end(), sizes) == all.end()) all.push_back(std::move(sizes));
  };
  if (whole) {
    // The sizes of each axis in their order, and the largest of one with a usual one of the others.
    size_t most = 0;
    for (const AxisSizes& axis : axes) most = std::max(most, axis.sizes.size());
    for (size_t k = most; k-- > 1;) add([&](size_t a) { return axes[a].from_end(k); });
    for (size_t one = 0; one < axes.size(); ++one)
      add([&](size_t a) { return axes[a].from_end(a == one ? 0 : 2); });
  } else {
    for (const double part : {0.125, 0.25, 0.375, 0.5, 0.75})
      add([&](size_t a) { return axes[a].at_least(part); });
    for (size_t one = 0; one < axes.size(); ++one)
      add([&](size_t a) { return axes[a].at_least(a == one ? 1 : 0.5); });
  }
  // The full one comes last, also where a fraction came out as large.
  const std::vector<int64_t> full = sizes_by([&](size_t a) { return axes[a].sizes.back(); });
  std::erase(all, full);
  all.push_back(full);
  return all;
}

void begin_plan(StepPlan& plan) {
  for (MicroBatchPlan& batch : plan.batches) plan.spare.push_back(std::move(batch.rows));
  plan.batches.clear();
  plan.tokens = {};
}

MicroBatchPlan& add_batch(StepPlan& plan) {
  MicroBatchPlan& batch = plan.batches.emplace_back();
  if (!plan.spare.empty()) {
    batch.rows = std::move(plan.spare.back());
    batch.rows.clear();
    plan.spare.pop_back();
  }
  return batch;
}

}  // namespace

bool BatchShape::has(std::string_view axis) const {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == axis; });
}

int64_t BatchShape::operator[](std::string_view axis) const {
  const auto at =
      std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == axis; });
  HONE_BUG_IF(at == axes.end(), "the shape {} has no axis {}", text(), axis);
  return at->size;
}

BatchShape BatchShape::with(std::string_view axis, int64_t size) const {
  BatchShape shape = *this;
  shape.axes.push_back({std::string(axis), size});
  return shape;
}

std::string BatchShape::text() const {
  std::string text;
  for (const Axis& a : axes)
    if (a.name != kSequences && a.name != kLabels)
      text += fmt::format("{}{}", text.empty() ? "" : "+", a.size);
  return has(kLabels) ? text + ".all" : text;
}

size_t BatchGrid::index(std::span<const int64_t> tokens) const {
  const auto sum = [&](size_t i) {
    int64_t all = 0;
    for (size_t a = 0; a < tokens.size(); ++a) all += shapes[i].axes[a].size;
    return all;
  };
  const auto holds = [&](size_t i) {
    for (size_t a = 0; a < tokens.size(); ++a)
      if (shapes[i].axes[a].size < tokens[a]) return false;
    return true;
  };
  size_t best = shapes.size() - 1;
  for (size_t i = 0; i < shapes.size(); ++i)
    if (holds(i) && sum(i) < sum(best)) best = i;
  return best;
}

BatchGrid choose_grid(std::span<const AxisLengths> axes, int64_t rows, int64_t remainder_rows,
                      bool whole) {
  BatchGrid grid;
  std::vector<AxisSizes> chosen;
  for (const AxisLengths& axis : axes) {
    HONE_BUG_IF(axis.lengths.size() != axes[0].lengths.size(), "{} {}, {} {}",
                axes[0].lengths.size(), axes[0].axis, axis.lengths.size(), axis.axis);
    chosen.push_back(choose_sizes(axis.lengths, rows, remainder_rows, whole));
    grid.max_rows = std::max(grid.max_rows, chosen.back().max_rows);
  }
  const int64_t sequences = chosen.size() == 1 ? chosen[0].sequences : grid.max_rows + 1;
  const auto add = [&](const std::vector<int64_t>& sizes) {
    BatchShape& shape = grid.shapes.emplace_back();
    for (size_t a = 0; a < axes.size(); ++a) shape.axes.push_back({axes[a].axis, sizes[a]});
    shape.axes.push_back({kSequences, sequences});
  };
  if (chosen.size() == 1)
    for (const int64_t size : chosen[0].sizes) add({size});
  else
    for (const std::vector<int64_t>& sizes : combined_sizes(chosen, whole)) add(sizes);
  return grid;
}

void plan_step(std::span<const std::vector<int64_t>> lengths, const BatchGrid& grid,
               StepPlan& plan) {
  begin_plan(plan);
  const size_t axes = lengths.size();
  const BatchShape& most = grid.largest();
  plan.rows = static_cast<int64_t>(lengths[0].size());
  const auto is_full = [&](const MicroBatchPlan& batch) {
    if (static_cast<int64_t>(batch.rows.size()) == grid.max_rows) return true;
    for (size_t a = 0; a < axes; ++a)
      if (batch.tokens[a] == most.axes[a].size) return true;
    return false;
  };
  size_t first_open = 0;  // batches before it are full
  for (size_t i = 0; i < lengths[0].size(); ++i) {
    for (size_t a = 0; a < axes; ++a)
      HONE_BUG_IF(lengths[a][i] < 1 || lengths[a][i] > most.axes[a].size,
                  "a row of {} {}, the largest shape has {}", lengths[a][i], most.axes[a].name,
                  most.axes[a].size);
    const auto has_room = [&](const MicroBatchPlan& batch) {
      if (static_cast<int64_t>(batch.rows.size()) == grid.max_rows) return false;
      for (size_t a = 0; a < axes; ++a)
        if (batch.tokens[a] + lengths[a][i] > most.axes[a].size) return false;
      return true;
    };
    size_t b = first_open;
    while (b < plan.batches.size() && !has_room(plan.batches[b])) ++b;
    if (b == plan.batches.size()) {
      add_batch(plan);
    }
    MicroBatchPlan& batch = plan.batches[b];
    batch.rows.push_back(static_cast<int32_t>(i));
    for (size_t a = 0; a < axes; ++a) {
      batch.tokens[a] += lengths[a][i];
      plan.tokens[a] += lengths[a][i];
    }
    while (first_open < plan.batches.size() && is_full(plan.batches[first_open])) ++first_open;
  }
  for (MicroBatchPlan& batch : plan.batches)
    batch.shape = grid.index(std::span(batch.tokens).first(axes));
}

void plan_units(std::span<const std::vector<int64_t>> lengths, const BatchGrid& grid,
                int64_t unit_rows, const Share& share, StepPlan& plan) {
  begin_plan(plan);
  plan.rows = std::ssize(lengths[0]);
  const int64_t units = (plan.rows + unit_rows - 1) / unit_rows;
  AxisTokens most{};
  for (int64_t u = 0; u < (units + share.ranks - 1) / share.ranks * share.ranks; ++u) {
    MicroBatchPlan* batch = u % share.ranks == share.rank ? &add_batch(plan) : nullptr;
    AxisTokens tokens{};
    for (int64_t i = u * unit_rows; i < std::min((u + 1) * unit_rows, plan.rows); ++i) {
      if (batch) batch->rows.push_back(static_cast<int32_t>(i));
      for (size_t a = 0; a < lengths.size(); ++a) tokens[a] += lengths[a][static_cast<size_t>(i)];
    }
    for (size_t a = 0; a < lengths.size(); ++a) {
      plan.tokens[a] += tokens[a];
      most[a] = std::max(most[a], tokens[a]);
    }
    if (batch) batch->tokens = tokens;
  }
  const size_t shape = grid.index(std::span(most).first(lengths.size()));
  for (size_t a = 0; a < lengths.size(); ++a)
    HONE_BUG_IF(most[a] > grid.shapes[shape].axes[a].size,
                "a unit of {} {}, the largest shape has {}", most[a],
                grid.shapes[shape].axes[a].name, grid.shapes[shape].axes[a].size);
  for (MicroBatchPlan& batch : plan.batches) batch.shape = shape;
}

void add_empty_batches(size_t count, size_t axes, const BatchGrid& grid, StepPlan& plan) {
  while (plan.batches.size() < count) {
    MicroBatchPlan& batch = plan.batches.emplace_back();
    batch.shape = grid.index(std::span(batch.tokens).first(axes));
  }
}

void reserve_step(size_t rows, const BatchGrid& grid, StepPlan& plan) {
  plan.batches.reserve(rows);
  plan.spare.resize(rows);
  for (auto& list : plan.spare) list.reserve(std::min(rows, static_cast<size_t>(grid.max_rows)));
}

Status pack_rows(const TokenRows& data, const BatchRows& batch, const SequenceInputs& to) {
  const size_t T = to.ids.size(), S = to.cu_seqlens.size() - 1;
  HONE_BUG_IF(batch.rows.size() > S, "{} rows for {} sequences", batch.rows.size(), S);
  size_t at = 0;
  for (size_t s = 0; s < batch.rows.size(); ++s) {
    const int64_t row = batch.rows[s];
    const std::span<const int32_t> ids = data.row(row);
    if (ids.empty() || at + ids.size() > T) {
      HONE_TRY(data.check_unchanged());
      HONE_BUG_IF(true, "row {} of {} tokens at {} of {}", row, ids.size(), at, T);
    }
    to.cu_seqlens[s] = static_cast<int32_t>(at);
    std::copy(ids.begin(), ids.end(), to.ids.begin() + static_cast<std::ptrdiff_t>(at));
    for (size_t i = 0; i < ids.size(); ++i) to.positions[at + i] = static_cast<int32_t>(i);
    if (!to.sample_ids.empty())
      std::fill_n(to.sample_ids.begin() + static_cast<std::ptrdiff_t>(at), ids.size(),
                  batch.number(row));
    at += ids.size();
  }
  HONE_BUG_IF(at < T && batch.rows.size() == S, "no sequence is left for the slack after {} of {}",
              at, T);
  const auto end = static_cast<std::ptrdiff_t>(at);
  std::fill(to.ids.begin() + end, to.ids.end(), 0);
  std::fill(to.positions.begin() + end, to.positions.end(), 0);
  if (!to.sample_ids.empty()) std::fill(to.sample_ids.begin() + end, to.sample_ids.end(), -1);
  std::fill(to.cu_seqlens.begin() + static_cast<std::ptrdiff_t>(batch.rows.size()),
            to.cu_seqlens.end(), static_cast<int32_t>(T));
  to.cu_seqlens[batch.rows.size()] = static_cast<int32_t>(at);
  return data.check_unchanged(batch.rows);
}

void next_labels(const TokenRows& data, const BatchRows& batch, std::span<const int32_t> ids,
                 std::span<int32_t> labels) {
  std::fill(labels.begin(), labels.end(), kIgnoreLabel);
  size_t at = 0;
  for (const int64_t row : batch.rows) {
    const auto n = static_cast<size_t>(data.length(row));
    for (size_t i = 0; i + 1 < n; ++i) labels[at + i] = ids[at + i + 1];
    at += n;
  }
}

void decoder_inputs(const TokenRows& data, const BatchRows& batch, int64_t decoder_start,
                    std::span<int32_t> ids, std::span<int32_t> labels) {
  std::fill(labels.begin(), labels.end(), kIgnoreLabel);
  size_t at = 0;
  for (const int64_t row : batch.rows) {
    const auto n = static_cast<size_t>(data.length(row));
    for (size_t i = 0; i < n; ++i) labels[at + i] = ids[at + i];
    for (size_t i = n - 1; i > 0; --i) ids[at + i] = ids[at + i - 1];
    ids[at] = decoder_start >= 0 ? static_cast<int32_t>(decoder_start) : labels[at + n - 1];
    at += n;
  }
}

}  // namespace hone

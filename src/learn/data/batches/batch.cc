#include "learn/data/batches/batch.h"

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

}  // namespace

BatchGrid choose_grid(std::span<const int64_t> lengths, int64_t rows, int64_t remainder_rows,
                      bool whole) {
  HONE_BUG_IF(lengths.empty() || rows < 1, "{} lengths, {} rows", lengths.size(), rows);
  BatchGrid grid;
  const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
  if (*shortest == *longest) {
    grid.max_rows = grid.slots = rows;
    if (remainder_rows > 0 && remainder_rows < rows)
      grid.budgets.push_back(remainder_rows * *longest);
    grid.budgets.push_back(rows * *longest);
    return grid;
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
    // Most steps need at most `full`; the largest budget is for the rest of them.
    const int64_t most = round_up(longest_together(lengths, rows), 64);
    grid.budgets = {std::min(part_of(full, 0.4), most),        std::min(part_of(full, 0.7), most),
                    std::min(part_of(full, 0.85), most),       std::min(full, most),
                    part_of(std::min(full, most) + most, 0.5), most};
    grid.max_rows = rows;
  } else {
    // Most micro-batches are nearly full: sizes are close there, so that little runs on slack.
    for (const double part : {1.0, 0.9, 0.8, 0.7, 0.4, 0.2})
      grid.budgets.push_back(part_of(full, part));
    grid.max_rows = 2 * rows;
  }
  std::sort(grid.budgets.begin(), grid.budgets.end());
  grid.budgets.erase(std::unique(grid.budgets.begin(), grid.budgets.end()), grid.budgets.end());
  grid.slots = grid.max_rows + 1;
  return grid;
}

StepPlan plan_step(std::span<const int64_t> lengths, const BatchGrid& grid) {
  StepPlan plan;
  plan_step(lengths, grid, plan);
  return plan;
}

void plan_step(std::span<const int64_t> lengths, const BatchGrid& grid, StepPlan& plan) {
  clear_batches(plan);
  plan.tokens = plan.label_tokens = 0;
  plan.rows = static_cast<int64_t>(lengths.size());
  size_t first_open = 0;  // batches before it are full
  for (size_t i = 0; i < lengths.size(); ++i) {
    HONE_BUG_IF(lengths[i] < 1 || lengths[i] > grid.largest(),
                "a row of {} tokens, the largest budget is {}", lengths[i], grid.largest());
    size_t b = first_open;
    while (b < plan.batches.size() &&
           (plan.batches[b].tokens + lengths[i] > grid.largest() ||
            static_cast<int64_t>(plan.batches[b].rows.size()) == grid.max_rows)) {
      ++b;
    }
    MicroBatchPlan& batch = b < plan.batches.size() ? plan.batches[b] : add_batch(plan);
    batch.rows.push_back(static_cast<int32_t>(i));
    batch.tokens += lengths[i];
    plan.tokens += lengths[i];
    plan.label_tokens += lengths[i] - 1;
    while (first_open < plan.batches.size() &&
           (plan.batches[first_open].tokens == grid.largest() ||
            static_cast<int64_t>(plan.batches[first_open].rows.size()) == grid.max_rows)) {
      ++first_open;
    }
  }
  for (MicroBatchPlan& batch : plan.batches) {
    batch.budget = *std::lower_bound(grid.budgets.begin(), grid.budgets.end(), batch.tokens);
  }
}

void reserve_step(size_t rows, const BatchGrid& grid, StepPlan& plan, MicroBatch& out) {
  reserve_batches(rows, grid.max_rows, plan);
  const auto tokens = static_cast<size_t>(grid.largest()), slots = static_cast<size_t>(grid.slots);
  for (std::vector<int32_t>* list : {&out.ids, &out.labels, &out.positions}) list->reserve(tokens);
  out.sample_ids.reserve(tokens);
  out.cu_seqlens.reserve(slots + 1);
  out.row_ids.reserve(slots);
}

Status fill_micro_batch(const TokenRows& data, std::span<const int64_t> step_rows,
                        const MicroBatchPlan& plan, const BatchGrid& grid, MicroBatch& out) {
  const auto T = static_cast<size_t>(plan.budget), S = static_cast<size_t>(grid.slots);
  out.ids.assign(T, 0);
  out.labels.assign(T, kIgnoreLabel);
  out.positions.assign(T, 0);
  out.sample_ids.assign(T, -1);
  out.cu_seqlens.assign(S + 1, static_cast<int32_t>(T));
  out.row_ids.assign(S, -1);
  out.tokens = plan.tokens;
  out.sequences = static_cast<int64_t>(plan.rows.size());
  out.label_tokens = plan.tokens - out.sequences;
  HONE_BUG_IF(plan.rows.size() + (plan.tokens < plan.budget ? 1 : 0) > S,
              "{} rows, {} tokens of {} in {} slots", plan.rows.size(), plan.tokens, plan.budget,
              S);
  size_t at = 0;
  for (size_t s = 0; s < plan.rows.size(); ++s) {
    const int64_t row = step_rows[static_cast<size_t>(plan.rows[s])];
    const std::span<const int32_t> ids = data.row(row);
    if (ids.empty() || at + ids.size() > T) {
      HONE_TRY(data.check_unchanged());
      HONE_BUG_IF(true, "row {} of {} tokens at {} of {}", row, ids.size(), at, T);
    }
    out.cu_seqlens[s] = static_cast<int32_t>(at);
    out.row_ids[s] = row;
    std::copy(ids.begin(), ids.end(), out.ids.begin() + static_cast<std::ptrdiff_t>(at));
    std::copy(ids.begin() + 1, ids.end(), out.labels.begin() + static_cast<std::ptrdiff_t>(at));
    for (size_t i = 0; i < ids.size(); ++i) out.positions[at + i] = static_cast<int32_t>(i);
    std::fill_n(out.sample_ids.begin() + static_cast<std::ptrdiff_t>(at), ids.size(), row);
    at += ids.size();
  }
  out.cu_seqlens[plan.rows.size()] = static_cast<int32_t>(at);
  return data.check_unchanged(std::span(out.row_ids).first(plan.rows.size()));
}

}  // namespace hone

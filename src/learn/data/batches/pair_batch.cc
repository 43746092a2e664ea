#include "learn/data/batches/pair_batch.h"

#include <cmath>

namespace hone {
namespace {

// Budgets of one side: the full one last, fractions before it.
struct SideBudgets {
  std::vector<int64_t> sizes;
  int64_t at_least(double share) const {
    const auto wanted = static_cast<int64_t>(std::ceil(static_cast<double>(sizes.back()) * share));
    return *std::lower_bound(sizes.begin(), sizes.end(), wanted);
  }
};

void start_side(const PairGrid& grid, int64_t budget, int64_t tokens, size_t sequences,
                MicroBatch& out) {
  const auto T = static_cast<size_t>(budget), S = static_cast<size_t>(grid.slots);
  out.ids.assign(T, 0);
  out.positions.assign(T, 0);
  out.sample_ids.assign(T, -1);
  out.cu_seqlens.assign(S + 1, static_cast<int32_t>(T));
  out.row_ids.assign(S, -1);
  out.tokens = tokens;
  out.sequences = static_cast<int64_t>(sequences);
}

Status start_row(const TokenRows& data, int64_t row, size_t s, size_t at, MicroBatch& out) {
  const std::span<const int32_t> ids = data.row(row);
  if (ids.empty() || at + ids.size() > out.ids.size()) {
    HONE_TRY(data.check_unchanged());
    HONE_BUG_IF(true, "row {} of {} tokens at {} of {}", row, ids.size(), at, out.ids.size());
  }
  out.cu_seqlens[s] = static_cast<int32_t>(at);
  out.row_ids[s] = row;
  for (size_t i = 0; i < ids.size(); ++i) out.positions[at + i] = static_cast<int32_t>(i);
  std::fill_n(out.sample_ids.begin() + static_cast<std::ptrdiff_t>(at), ids.size(), row);
  return Ok{};
}

}  // namespace

size_t PairGrid::index(int64_t source, int64_t target) const {
  size_t best = budgets.size() - 1;
  auto tokens = [&](size_t i) { return budgets[i].source + budgets[i].target; };
  for (size_t i = 0; i < budgets.size(); ++i)
    if (budgets[i].source >= source && budgets[i].target >= target && tokens(i) < tokens(best))
      best = i;
  return best;
}

PairGrid choose_pair_grid(std::span<const int64_t> source_lengths,
                          std::span<const int64_t> target_lengths, int64_t rows,
                          int64_t remainder_rows, bool whole) {
  HONE_BUG_IF(source_lengths.size() != target_lengths.size(), "{} sources, {} targets",
              source_lengths.size(), target_lengths.size());
  const BatchGrid source = choose_grid(source_lengths, rows, remainder_rows, whole),
                  target = choose_grid(target_lengths, rows, remainder_rows, whole);
  const SideBudgets s{source.budgets}, t{target.budgets};
  PairGrid grid;
  grid.max_rows = std::max(source.max_rows, target.max_rows);
  grid.slots = grid.max_rows + 1;
  auto add_budget = [&](const PairBudget& b) {
    if (std::find(grid.budgets.begin(), grid.budgets.end(), b) == grid.budgets.end())
      grid.budgets.push_back(b);
  };
  if (whole) {
    // The sizes of each side in their order, and the largest of one with a usual one of the other.
    const size_t sizes = std::max(s.sizes.size(), t.sizes.size());
    auto size = [&](const SideBudgets& side, size_t from_end) {
      return side.sizes[side.sizes.size() - 1 - std::min(from_end, side.sizes.size() - 1)];
    };
    for (size_t k = sizes; k-- > 1;) add_budget({size(s, k), size(t, k)});
    add_budget({size(s, 0), size(t, 2)});
    add_budget({size(s, 2), size(t, 0)});
    const PairBudget full{size(s, 0), size(t, 0)};
    std::erase(grid.budgets, full);
    grid.budgets.push_back(full);
    return grid;
  }
  auto add = [&](double of_source, double of_target) {
    add_budget({s.at_least(of_source), t.at_least(of_target)});
  };
  for (const double part : {0.125, 0.25, 0.375, 0.5, 0.75}) add(part, part);
  add(1, 0.5);
  add(0.5, 1);
  // The full one comes last, also where a fraction came out as large.
  std::erase(grid.budgets, PairBudget{s.sizes.back(), t.sizes.back()});
  add(1, 1);
  return grid;
}

void plan_pair_step(std::span<const int64_t> source_lengths,
                    std::span<const int64_t> target_lengths, const PairGrid& grid,
                    PairStepPlan& plan) {
  HONE_BUG_IF(source_lengths.size() != target_lengths.size(), "{} sources, {} targets",
              source_lengths.size(), target_lengths.size());
  clear_batches(plan);
  plan.source_tokens = plan.label_tokens = 0;
  plan.rows = static_cast<int64_t>(source_lengths.size());
  const PairBudget most = grid.largest();
  for (size_t i = 0; i < source_lengths.size(); ++i) {
    const int64_t source = source_lengths[i], target = target_lengths[i];
    HONE_BUG_IF(source < 1 || target < 1 || source > most.source || target > most.target,
                "a pair of {} and {} tokens, the largest budget is {} and {}", source, target,
                most.source, most.target);
    size_t b = 0;
    auto full = [&](const PairBatchPlan& batch) {
      return batch.source_tokens + source > most.source ||
             batch.target_tokens + target > most.target ||
             static_cast<int64_t>(batch.rows.size()) == grid.max_rows;
    };
    while (b < plan.batches.size() && full(plan.batches[b])) ++b;
    PairBatchPlan& batch = b < plan.batches.size() ? plan.batches[b] : add_batch(plan);
    batch.rows.push_back(static_cast<int32_t>(i));
    batch.source_tokens += source;
    batch.target_tokens += target;
    plan.source_tokens += source;
    plan.label_tokens += target;
  }
  for (PairBatchPlan& batch : plan.batches)
    batch.budget = grid.index(batch.source_tokens, batch.target_tokens);
}

void reserve_pair_step(size_t rows, const PairGrid& grid, PairStepPlan& plan, PairMicroBatch& out) {
  reserve_batches(rows, grid.max_rows, plan);
  const auto slots = static_cast<size_t>(grid.slots);
  for (auto [side, budget] :
       {std::pair{&out.source, grid.largest().source}, {&out.target, grid.largest().target}}) {
    const auto tokens = static_cast<size_t>(budget);
    for (std::vector<int32_t>* list : {&side->ids, &side->positions}) list->reserve(tokens);
    side->sample_ids.reserve(tokens);
    side->cu_seqlens.reserve(slots + 1);
    side->row_ids.reserve(slots);
  }
  out.target.labels.reserve(static_cast<size_t>(grid.largest().target));
}

Status fill_pair_batch(const TokenRows& sources, const TokenRows& targets, int64_t decoder_start,
                       std::span<const int64_t> step_rows, const PairBatchPlan& plan,
                       const PairGrid& grid, PairMicroBatch& out) {
  const PairBudget budget = grid.budgets[plan.budget];
  const size_t rows = plan.rows.size();
  HONE_BUG_IF(rows + 1 > static_cast<size_t>(grid.slots), "{} pairs in {} slots", rows, grid.slots);
  start_side(grid, budget.source, plan.source_tokens, rows, out.source);
  start_side(grid, budget.target, plan.target_tokens, rows, out.target);
  out.target.labels.assign(out.target.ids.size(), kIgnoreLabel);
  out.target.label_tokens = plan.target_tokens;
  size_t from = 0, to = 0;
  for (size_t s = 0; s < rows; ++s) {
    const int64_t row = step_rows[static_cast<size_t>(plan.rows[s])];
    HONE_TRY(start_row(sources, row, s, from, out.source));
    HONE_TRY(start_row(targets, row, s, to, out.target));
    const std::span<const int32_t> source = sources.row(row), target = targets.row(row);
    auto at = [](std::vector<int32_t>& v, size_t i) {
      return v.begin() + static_cast<std::ptrdiff_t>(i);
    };
    std::copy(source.begin(), source.end(), at(out.source.ids, from));
    std::copy(target.begin(), target.end(), at(out.target.labels, to));
    out.target.ids[to] = decoder_start >= 0 ? static_cast<int32_t>(decoder_start) : target.back();
    std::copy(target.begin(), target.end() - 1, at(out.target.ids, to + 1));
    from += source.size();
    to += target.size();
  }
  out.source.cu_seqlens[rows] = static_cast<int32_t>(from);
  out.target.cu_seqlens[rows] = static_cast<int32_t>(to);
  HONE_TRY(sources.check_unchanged(std::span(out.source.row_ids).first(rows)));
  return targets.check_unchanged(std::span(out.target.row_ids).first(rows));
}

}  // namespace hone

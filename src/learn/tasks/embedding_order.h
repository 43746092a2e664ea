// An order of rows in which the rows of a step have no text in common (NoDuplicatesBatchSampler).
#pragma once

#include <functional>
#include <span>

#include "learn/tasks/text_rows.h"

namespace hone {

// For Examples::reorder. Each step takes the first rows left that share no text with those it has; rows that share one
// wait for a later step. If only such rows are left, they fill the last steps.
std::function<void(std::span<int64_t> order, int64_t step_rows)> apart_from_duplicates(
    const TableOfTexts& table);

}  // namespace hone

// Orders training rows so that the rows of a step have no text in common, as sentence-transformers'
// NoDuplicatesBatchSampler.
#pragma once

#include <functional>
#include <span>

#include "learn/tasks/text_rows.h"

namespace hone {

// Returns a function for Examples::reorder. It goes through the rows in their order. A row that has a text in common
// with a row of the step waits for a later step. If only such rows are left, they fill the step. Compares the texts of
// all columns of `table`, which need not outlive the function.
std::function<void(std::span<int64_t> order, int64_t step_rows)> apart_from_duplicates(
    const TableOfTexts& table);

}  // namespace hone

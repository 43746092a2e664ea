// Orders training rows so that the rows of an optimizer step have no text in common, as sentence-transformers'
// NoDuplicatesBatchSampler.
#pragma once

#include <functional>
#include <span>

#include "learn/tasks/text_rows.h"

namespace hone {

// Returns a function for Examples::reorder, which changes `order` in place. `order`: indices of rows of `table`.
// `step_rows`: rows of an optimizer step of all ranks; each run of `step_rows` elements of the result is one step.
//
// The function fills the steps one after another and takes the rows in their given order. A row that has a text in
// common with a row already in the step waits for the next step, where it is tried first. If only such rows are left,
// they fill the step in spite of their common texts. Equal texts in different columns count as common too. `table`
// need not outlive the function.
std::function<void(std::span<int64_t> order, int64_t step_rows)> apart_from_duplicates(
    const TableOfTexts& table);

}  // namespace hone

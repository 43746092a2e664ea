// The files of hone eval --save_examples: one line a row, and the settings of the evaluation, so
// that another model can be evaluated in the same way.
#pragma once

#include "learn/harness/example_scores.h"
#include "learn/harness/run/task_run.h"
#include "run/commands/task_choice.h"

namespace hone {

// H3010 if rows cannot be saved: no output_dir, rows of a stream, or slice columns although the
// rows are not rows of a file.
Status check_saved_examples(const ChosenTask& chosen,
                            const std::vector<std::string>& slice_columns);

// <output_dir>/eval_run.json and then eval_examples.jsonl: {"id","prediction","reference","scores","slices"}.
// An id identifies a row and its data: two evaluations saw the same rows if their ids are equal. Errors: H2109 a
// column that is missing, H3010 a file whose rows are not the evaluated rows, those of the store.
Status save_examples(const ChosenTask& chosen, const TaskRun& run, const ExampleScores& scores,
                     const std::vector<std::string>& slice_columns);

}  // namespace hone

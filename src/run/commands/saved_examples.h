// Writes the files of hone eval --save_examples: the scores of each evaluated row, and the settings of the evaluation,
// with which another model can be evaluated in the same way.
#pragma once

#include "learn/harness/example_scores.h"
#include "learn/harness/run/task_run.h"
#include "run/commands/task_choice.h"

namespace hone {

// Error H3010 if rows cannot be saved, for one of these reasons: output_dir is not set; the data is a stream; slice
// columns (slice_columns.h) are requested, but the evaluated rows are not rows of a file.
Status check_saved_examples(const ChosenTask& chosen,
                            const std::vector<std::string>& slice_columns);

// Writes <output_dir>/eval_run.json and then <output_dir>/eval_examples.jsonl. The latter has one object for each row:
// {"id", "prediction", "reference", "scores", "slices"}. An id identifies a row and the data that has it: two
// evaluations used the same rows if their ids are equal. Errors: H2109 a slice column is missing, H3010 the rows of the
// data file are not the evaluated rows, those of the store.
Status save_examples(const ChosenTask& chosen, const TaskRun& run, const ExampleScores& scores,
                     const std::vector<std::string>& slice_columns);

}  // namespace hone

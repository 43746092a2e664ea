// Columns of a data file beside the rows of an evaluation, by whose values models are compared: hone
// prepare keeps them with its shards, hone eval writes them beside its saved rows.
#pragma once

#include "learn/data/formats/rows.h"
#include "learn/data/rows/text_files.h"
#include "learn/data/shards/shards.h"
#include "learn/harness/data_flags.h"
#include "run/commands/task_choice.h"

namespace hone {

// H3010 if rows of the task are not rows of a file.
Status check_slice_columns(const ChosenTask& chosen, const std::vector<std::string>& columns);

// H2109, with the nearest name, for a column that the first rows lack.
Status find_columns(RowReader& rows, const std::vector<std::string>& columns);
// The same for the validation rows.
Status find_slice_columns(const Task& task, const LabelSources& sources,
                          const std::vector<std::string>& columns);

// The same for the rows that hone eval reads: before the evaluation, which may take hours. Errors: H2109,
// H3010 shards that do not keep a column.
Status find_evaluated_columns(const Task& task, const std::vector<std::string>& columns);

// Writes <folder>/validation/slices.json for shards of these files. Errors: H2109, H3010 files
// whose rows are not those of the shards, those of the store.
Status keep_slices(const std::string& folder, const ShardManifest& shards, const Task& task,
                   const LabelSources& sources, const std::vector<std::string>& columns);

// The same as sources, for a task that learns from text alone. Errors: those of dataset_splits.
Result<LabelSources> sources_of(const TextFiles& files);

// The values of the columns, an object for each of the first `rows` of the evaluated rows. Errors:
// H2109, H3010 files with other rows, or shards that do not keep a column.
Result<std::vector<OrderedJson>> read_slices(const Task& task,
                                             const std::vector<std::string>& columns,
                                             const TokenRows& evaluated, size_t rows);

}  // namespace hone

// Slice columns: columns of a data file, such as `language`, whose values divide the evaluated rows into groups
// (slices) in which models are also compared. hone prepare stores them with its shards, and hone eval writes them
// with its saved rows.
#pragma once

#include "learn/data/formats/rows.h"
#include "learn/data/rows/text_files.h"
#include "learn/data/shards/shards.h"
#include "learn/harness/data_flags.h"
#include "run/commands/task_choice.h"

namespace hone {

// Error H3010 if columns are requested, but the rows of the task are not rows of a file (they may be blocks of a text).
Status check_slice_columns(const ChosenTask& chosen, const std::vector<std::string>& columns);

// Error H2109, with the nearest name, if the first 1000 rows do not have one of the columns.
Status find_columns(RowReader& rows, const std::vector<std::string>& columns);
// find_columns() for the validation rows.
Status find_slice_columns(const Task& task, const LabelSources& sources,
                          const std::vector<std::string>& columns);

// find_columns() for the rows that hone eval reads. Call it before the evaluation, which may take hours. Errors: those
// of find_columns(); H3010 the data are shards that do not store one of the columns.
Status find_evaluated_columns(const Task& task, const std::vector<std::string>& columns);

// Writes the values of the columns for the validation rows of shards (files of token ids) to
// <folder>/validation/slices.json. `sources` are the files from which the shards were made. Errors: H2109 a column is
// missing; H3010 the rows of the files are not the rows of the shards; those of the store.
Status keep_slices(const std::string& folder, const ShardManifest& shards, const Task& task,
                   const LabelSources& sources, const std::vector<std::string>& columns);

// Converts the files of a task that trains on plain text to the type that keep_slices() needs. Errors: those of
// dataset_splits().
Result<LabelSources> sources_of(const TextFiles& files);

// The values of the columns for the first `rows` evaluated rows: one object for each row. An empty list if `columns` is
// empty. Errors: H2109 a column is missing; H3010 the files have other rows than those that were evaluated, or the data
// are shards that do not store one of the columns.
Result<std::vector<OrderedJson>> read_slices(const Task& task,
                                             const std::vector<std::string>& columns,
                                             const TokenRows& evaluated, size_t rows);

}  // namespace hone

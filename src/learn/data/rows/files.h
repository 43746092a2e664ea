// Data files as users name them: paths, globs, several files read as one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "learn/data/formats/rows.h"

namespace hone {

// Each pattern is a path, a glob (*, ?, [...]) or a folder of the datasets library
// (dataset_folder.h), of which the files of `split` are taken; the files of a glob come in sorted
// order. Errors: H2101, with the nearest name in the folder, when a pattern names no file; H2131.
Result<std::vector<std::string>> expand_files(std::span<const std::string> patterns,
                                              const std::string& split = "train");

// The rows of all files, file after file, opened one at a time. Columns are those of the first
// file; a later csv, tsv, parquet or arrow file that lacks one of them is an error (H2109), a json
// row that lacks one has a null there. Rows that take more memory than the run may: H2117.
Result<std::unique_ptr<RowReader>> open_rows(std::vector<std::string> files,
                                             const RowOptions& options = {});

// The same for files that follow others: `columns` are those of the first of all files, and keep their
// indices.
Result<std::unique_ptr<RowReader>> open_rows_after(std::vector<std::string> columns,
                                                   std::vector<std::string> files,
                                                   const RowOptions& options);

// Index of the column to train on: `wanted`, or if empty the column `text`, or else the first
// one (as run_clm). Errors: H2109 with the nearest name, H2113 without rows.
Result<size_t> text_column(const RowReader& rows, const std::string& wanted = "");

// Checks that a column holds text or token ids, and returns the reader to its place. Errors: H2109
// if its first rows hold only numbers.
Status check_no_numbers(RowReader& rows, size_t column);

// The column `text`, or else the only one that holds text (not numbers) in the first rows. Returns
// the reader to its place. Errors: H2109 if there are none or several.
Result<size_t> only_text_column(RowReader& rows);

// Counts the rows from the reader's place to the end, and returns the reader to that place.
Result<int64_t> count_rows(RowReader& rows);

// Writes the csv with header `text` and one record whose cell is all of `in`, every byte kept.
// Errors: H2101, H2102.
Status text_to_csv(const std::string& in, const std::string& out);

// Whether the name can only be that of a file: it ends as files of rows do. URLs are not looked at.
bool names_data_file(const std::string& name);

}  // namespace hone

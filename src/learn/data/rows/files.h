// Opens the data files that a user names by paths, URLs, globs or folders of the datasets library. Several files are
// read as one table.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "learn/data/formats/rows.h"

namespace hone {

// Turns patterns into files. Each pattern is a path, a glob (*, ?, [...]), or a folder of the datasets library
// (dataset_folder.h), which gives the files of its split `split`. Files are in the order of the patterns; those of a
// glob are sorted. Errors: H2101 a pattern matches no file (if a path does not exist, the message suggests the nearest
// name in its folder); H2131 a folder of the datasets library cannot be read.
Result<std::vector<std::string>> expand_files(std::span<const std::string> patterns,
                                              const std::string& split = "train");

// Reads the rows of all files in order; one file is open at a time. The columns are those of the first file; other
// columns of later files are dropped. If a row of json or jsonl lacks a column, its cell is null. Errors of this
// function and of the reader: H2101 `files` is empty; H2109 a later file that is not json or jsonl lacks a column;
// H2117 the rows that the caller has kept so far take more memory than the run may take (base/core/memory.h); those of
// open_file_source and open_source.
Result<std::unique_ptr<RowReader>> open_rows(std::vector<std::string> files,
                                             const RowOptions& options = {});

// As open_rows, but for files that follow an earlier file. This reader does not read the earlier file. `columns` are
// the columns of the earlier file; they are also the first columns of this reader.
Result<std::unique_ptr<RowReader>> open_rows_after(std::vector<std::string> columns,
                                                   std::vector<std::string> files,
                                                   const RowOptions& options);

// The index of the column to train on: `wanted`; if it is empty, the column `text`, else the first column, as in
// run_clm of Transformers. Errors: H2109 there is no column `wanted`; H2113 there are no columns, so the data has no
// rows.
Result<size_t> text_column(const RowReader& rows, const std::string& wanted = "");

// Checks that not all values of a column are numbers. Looks at the next 1,000 rows, and then moves the reader back to
// its row. Empty cells do not count. A list of token ids is not a number. Errors: H2109 all values are numbers.
Status check_no_numbers(RowReader& rows, size_t column);

// The index of the column `text`. If there is no such column: the index of the only column that has text other than
// numbers in the next 1,000 rows; the reader is then moved back to its row. Errors: H2109 there is no column `text`,
// and none or several columns have such text.
Result<size_t> only_text_column(RowReader& rows);

// Counts the rows from the reader's current row to the end, and then moves the reader back to that row.
Result<int64_t> count_rows(RowReader& rows);

// Writes the csv file `out` with the header `text` and one record, whose field is the whole file `in`, byte for byte.
// Errors: H2101 `in` does not exist; H2102 a file cannot be read or written, or both are the same file.
Status text_to_csv(const std::string& in, const std::string& out);

// True if the name has the extension of a data format that hone reads, such as x.jsonl.gz. Does not look at the disk.
bool names_data_file(const std::string& name);

}  // namespace hone

// Cuts the files of a preparation into items of work, each a range of the rows.
#pragma once

#include <string>
#include <vector>

#include "learn/data/rows/text_files.h"

namespace hone {

// Whole files [first_file, end_file) of a part, or the rows of one file that begin at bytes
// [begin, end).
struct WorkItem {
  size_t part = 0, first_file = 0, end_file = 0;
  int64_t begin = 0, end = INT64_MAX;
  bool operator==(const WorkItem&) const = default;
};

// Items of about `item_bytes` bytes, in the order of the rows: small files together, large ones alone,
// and in pieces if their rows are lines (can_cut). Depends on nothing else. Errors: those of the
// files.
Result<std::vector<WorkItem>> items_of(const std::vector<TextPart>& parts, int64_t item_bytes);

// Whether each row is a line: jsonl, and text read line by line, in UTF-8 and not compressed.
Result<bool> can_cut(const std::string& file, const RowOptions& options);

// The first place at or after `offset` at which a line begins; the end of the file if there is none.
Result<int64_t> line_start(const std::string& file, int64_t offset);

// The rows of an item. `columns` are those of the first file of its part. `line` is the number of the
// line at its first row, which only errors need.
Result<std::unique_ptr<RowReader>> open_item(const TextPart& part, const WorkItem& item,
                                             const std::vector<std::string>& columns, int64_t line);
// The number of the line at the first row.
Result<int64_t> first_line_of(const TextPart& part, const WorkItem& item);

}  // namespace hone

// Cuts the files of a preparation into items of work. An item is a range of the rows.
#pragma once

#include <string>
#include <vector>

#include "learn/data/rows/text_files.h"

namespace hone {

// The files [first_file, end_file) of parts[part]. If `begin` or `end` differs from its default, there is one file, and
// the item has only the rows whose first byte is in [begin, end) of the file.
struct WorkItem {
  size_t part = 0, first_file = 0, end_file = 0;
  int64_t begin = 0, end = INT64_MAX;
  bool operator==(const WorkItem&) const = default;
};

// Items of about `item_bytes` bytes in the order of the rows. Small files are put into one item. A file larger than
// item_bytes is cut into several items if can_cut() allows it, else it is one item. The result depends only on the
// files and item_bytes. Errors: those of the files.
Result<std::vector<WorkItem>> items_of(const std::vector<TextPart>& parts, int64_t item_bytes);

// True if each row of the file is one line, so the file can be cut at line breaks: jsonl, or text read line by line, in
// UTF-8 and not compressed. Errors: those of the file.
Result<bool> can_cut(const std::string& file, const RowOptions& options);

// The offset of the first line that begins at or after `offset`; the size of the file if no line does.
Result<int64_t> line_start(const std::string& file, int64_t offset);

// Opens the rows of an item. `columns` are the columns of the first file of the part. `line` is the line number of the
// item's first row (first_line_of); it only affects messages.
Result<std::unique_ptr<RowReader>> open_item(const TextPart& part, const WorkItem& item,
                                             const std::vector<std::string>& columns, int64_t line);
// The 1-based line number of the item's first row. Reads the file up to that row.
Result<int64_t> first_line_of(const TextPart& part, const WorkItem& item);

}  // namespace hone

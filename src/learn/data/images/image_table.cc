#include "learn/data/images/image_table.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/data/images/errors.h"
#include "learn/data/rows/files.h"
#include "learn/data/rows/label_map.h"

namespace hone {
namespace {

std::optional<size_t> find_column(const std::vector<std::string>& columns,
                                  const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (const auto at = std::find(columns.begin(), columns.end(), name); at != columns.end())
      return static_cast<size_t>(at - columns.begin());
  return std::nullopt;
}

Result<size_t> column_of(const std::vector<std::string>& columns,
                         const std::vector<std::string>& names, const char* what,
                         const std::string& file) {
  if (const auto at = find_column(columns, names)) return *at;
  return Error(err::kImageColumn, fmt::format("'{}' has no column '{}'", file, names[0]))
      .at(fmt::format("columns: {}", join(columns, ", ")))
      .todo(fmt::format("name the column of the {} by `{}_column_name`", what, what));
}

Error no_image(const Row& row, const std::string& column, std::string_view why) {
  return Error(err::kImageColumn,
               fmt::format("column '{}' holds {} where an image is needed", column, why))
      .at(row.where())
      .todo("images are the bytes and path that the `datasets` library writes, or paths");
}

std::string folder_of(std::string_view file) {
  const size_t slash = file.find_last_of('/');
  return slash == std::string_view::npos ? "." : std::string(file.substr(0, slash));
}

// Adds the image of a cell; labels are given later.
Status add_cell(const Row& row, size_t column, const std::string& name, int32_t label,
                ImageRows& to) {
  const Cell& cell = row.cells[column];
  const auto* file = std::get_if<FileCell>(&cell);
  const auto* path = std::get_if<std::string>(&cell);
  if (file && !file->bytes.empty()) {
    to.add_bytes(file->bytes, row.where(), label);
    return Ok{};
  }
  const std::string& named = file ? file->path : path ? *path : std::string();
  if (named.empty()) return no_image(row, name, file ? "no bytes" : cell_type_name(cell));
  const bool whole = named.starts_with('/') || named.find("://") != std::string::npos;
  const size_t slash = named.find_last_of('/');
  const std::string inner = slash == std::string::npos ? "" : named.substr(0, slash);
  const int32_t folder = to.add_folder(whole           ? inner
                                       : inner.empty() ? folder_of(row.file)
                                                       : folder_of(row.file) + "/" + inner);
  to.add_file(folder, std::string_view(named).substr(slash == std::string::npos ? 0 : slash + 1), 0,
              label);
  return Ok{};
}

}  // namespace

Result<LabelledImages> read_image_table(const std::vector<std::string>& files,
                                        const ImageColumns& columns,
                                        const std::vector<std::string>& names) {
  const std::unique_ptr<RowReader> reader = HONE_TRY(open_rows(files));
  const size_t image =
      HONE_TRY(column_of(reader->columns(), {columns.image, "img"}, "image", files[0]));
  size_t label = 0;
  std::vector<size_t> wanted{image};
  if (columns.labelled) {
    label = HONE_TRY(
        column_of(reader->columns(), {columns.label, "labels", "fine_label"}, "label", files[0]));
    wanted.push_back(label);
  }
  reader->read_only(wanted);
  LabelledImages out;
  SeenLabels seen;
  std::vector<int32_t> numbers;
  ImageRows rows;
  Row row;
  while (HONE_TRY(reader->next(row))) {
    const int32_t number =
        columns.labelled ? HONE_TRY(seen.add(row, label, reader->columns()[label])) : 0;
    HONE_TRY(add_cell(row, image, reader->columns()[image], number, rows));
    numbers.push_back(number);
  }
  if (!columns.labelled) {
    out.rows = std::move(rows);
    return out;
  }
  out.names = names;
  const LabelNames of_file = reader->label_names();
  if (const auto at = of_file.find(reader->columns()[label]);
      out.names.empty() && at != of_file.end())
    out.names = at->second;
  const LabelMap map = out.names.empty() ? HONE_TRY(sorted_labels(seen)) : named_labels(out.names);
  if (out.names.empty()) out.names = map.names;
  const std::vector<int32_t> ids = HONE_TRY(class_ids(seen, map));
  rows.set_labels(
      [&](int64_t i) { return ids[static_cast<size_t>(numbers[static_cast<size_t>(i)])]; });
  out.rows = std::move(rows);
  return out;
}

}  // namespace hone

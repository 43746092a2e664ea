#include "learn/data/formats/rows.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/store/unpack.h"
#include "learn/data/formats/errors.h"

namespace hone {

const char* cell_type_name(const Cell& cell) {
  static constexpr const char* kNames[] = {"null",          "text",          "integer",
                                           "number",        "true or false", "list of integers",
                                           "list of texts", "nested value",  "a file"};
  return kNames[cell.index()];
}

std::string Row::where() const {
  return line_is_row ? fmt::format("{} row {}", file, line) : fmt::format("{}:{}", file, line);
}

Result<Format> find_format(const std::string& file_name, const RowOptions& options) {
  std::string extension = options.format;
  const std::string_view base =
      without_packing(std::string_view(file_name).substr(file_name.find_last_of('/') + 1));
  if (extension.empty()) {
    const size_t dot = base.find_last_of('.');
    if (dot != std::string::npos) extension = base.substr(dot + 1);
  }
  extension = to_lower(extension);
  static constexpr std::string_view kCompressed[] = {"lz4", "tgz", "tar", "7z",
                                                     "rar", "br",  "lzma"};
  if (std::find(std::begin(kCompressed), std::end(kCompressed), extension) !=
      std::end(kCompressed)) {
    return Error(err::kDataCompressed,
                 fmt::format("'{}' is packed in a way that hone does not read (.{})", file_name,
                             extension))
        .todo("unpack it first; .gz, .zst, .bz2, .xz and .zip are read as they are");
  }
  std::vector<std::string> names;
  for (const Format& format : all_format()) {
    if (format.name == extension) return format;
    for (const std::string& known : format.extensions) {
      if (known == extension) return format;
      names.push_back(known);
    }
  }
  const std::string near = nearest_name(extension, names);
  return Error(err::kDataFormat,
               extension.empty()
                   ? fmt::format("'{}' has no extension to name its format", file_name)
                   : fmt::format("'.{}' of '{}' is not a data format that hone knows", extension,
                                 file_name))
      .todo(fmt::format("{}the extension is one of {}",
                        near.empty() ? "" : fmt::format("did you mean .{}? ", near),
                        join(names, ", ")));
}

Result<std::unique_ptr<RowReader>> open_source(std::unique_ptr<Source> source,
                                               const RowOptions& options) {
  const Format format = HONE_TRY(find_format(source->name(), options));
  const Source* given = source.get();
  source->limit(options.limits);
  if (!format.is_never_packed) source = HONE_TRY(unpacked(std::move(source)));
  source->limit(options.limits);
  if (!format.text) {
    if (source.get() != given) source = HONE_TRY(in_memory(std::move(source)));
    source->limit(options.limits);
    return format.open(std::move(source), options);
  }
  if (options.encoding == Charset::kUtf8)
    HONE_TRY(check_not_utf16(HONE_TRY(source->head()), source->name()));
  source = as_utf8(std::move(source), options.encoding);
  source->limit(options.limits);
  return format.open(std::move(source), options);
}

Result<std::string_view> cell_text(const Row& row, size_t column, std::string_view name) {
  HONE_BUG_IF(column >= row.cells.size(), "column {} of a row with {} cells", column,
              row.cells.size());
  const Cell& cell = row.cells[column];
  if (const auto* text = std::get_if<std::string>(&cell)) return std::string_view(*text);
  if (std::holds_alternative<std::monostate>(cell)) return std::string_view();
  return Error(err::kCellType,
               fmt::format("column '{}' holds {} where text is needed", name, cell_type_name(cell)))
      .at(row.where())
      .todo("name the column that holds the text, or write the value as text");
}

}  // namespace hone

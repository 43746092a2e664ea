#include "learn/data/rows/files.h"

#include <fnmatch.h>
#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/core/memory.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/dataset_folder.h"
#include "learn/data/rows/errors.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

Error no_such_file(const std::string& path) {
  const fs::path folder =
      fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  const std::string near =
      nearest_name(fs::path(path).filename().string(), names_in(folder.string()));
  Error error(err::kDataMissing, fmt::format("there is no data file '{}'", path));
  if (!near.empty())
    return std::move(error).todo(
        fmt::format("did you mean '{}'?", (fs::path(path).parent_path() / near).generic_string()));
  return std::move(error).todo(
      is_folder(folder) ? "check the path; relative paths start at the folder you are in"
                        : fmt::format("the folder '{}' does not exist either", folder.string()));
}

// Files in order; cells are put in the order of columns_ by name.
class Files final : public RowReader {
 public:
  // `columns`: of a file before the first one; empty: there is none.
  Files(std::vector<std::string> names, RowOptions options, std::vector<std::string> columns = {})
      : names_(std::move(names)),
        options_(std::move(options)),
        columns_(std::move(columns)),
        follows_(!columns_.empty()) {}

  Status open(size_t file) {
    std::unique_ptr<Source> source = HONE_TRY(open_file_source(names_[file]));
    const Format format = HONE_TRY(find_format(names_[file], options_));
    std::unique_ptr<RowReader> opened = HONE_TRY(open_source(std::move(source), options_));
    std::vector<size_t> to;
    for (const std::string& name : opened->columns()) to.push_back(place_of(name, file == 0));
    if ((file > 0 || follows_) && !format.name.starts_with("json"))
      HONE_TRY(check_columns(names_[file], opened->columns()));
    reader_ = std::move(opened);
    to_ = std::move(to);
    file_ = file;
    choose_columns();
    return Ok{};
  }

  const std::vector<std::string>& columns() const override { return columns_; }
  LabelNames label_names() const override { return reader_->label_names(); }
  void read_only(const std::vector<size_t>& columns) override {
    only_ = columns;
    choose_columns();
  }

  Result<bool> next(Row& row) override {
    while (!HONE_TRY(reader_->next(inner_))) {
      if (file_ + 1 == names_.size()) return false;
      HONE_TRY(open(file_ + 1));
    }
    for (size_t i = to_.size(); i < reader_->columns().size(); ++i) {
      to_.push_back(place_of(reader_->columns()[i], true));
    }
    row.cells.assign(columns_.size(), Cell());
    for (size_t i = 0; i < inner_.cells.size(); ++i) {
      if (to_[i] < row.cells.size()) row.cells[to_[i]] = std::move(inner_.cells[i]);
    }
    row.file = names_[file_];
    row.line = inner_.line;
    row.line_is_row = inner_.line_is_row;
    ++rows_;
    HONE_TRY(look_at_memory(row));
    return true;
  }
  RowPosition position() const override {
    RowPosition at = reader_->position();
    at.file = static_cast<int64_t>(file_);
    at.row = rows_;
    return at;
  }
  Status seek(const RowPosition& at) override {
    HONE_BUG_IF(at.file < 0 || at.file >= static_cast<int64_t>(names_.size()), "file {} of {}",
                at.file, names_.size());
    if (static_cast<size_t>(at.file) != file_) HONE_TRY(open(static_cast<size_t>(at.file)));
    rows_ = at.row;
    return reader_->seek(at);
  }

 private:
  static constexpr size_t kDropped = static_cast<size_t>(-1);

  // Index in columns_ of a name, added when it may be; else kDropped.
  size_t place_of(const std::string& name, bool may_add) {
    const auto at =
        static_cast<size_t>(std::find(columns_.begin(), columns_.end(), name) - columns_.begin());
    if (at < columns_.size()) return at;
    if (!may_add) return kDropped;
    columns_.push_back(name);
    return at;
  }

  void choose_columns() {
    if (only_.empty()) return;
    std::vector<size_t> inner;
    for (size_t i = 0; i < to_.size(); ++i)
      if (std::count(only_.begin(), only_.end(), to_[i]) > 0) inner.push_back(i);
    reader_->read_only(inner);
  }

  Status check_columns(const std::string& file, const std::vector<std::string>& has) const {
    for (const std::string& name : columns_) {
      if (std::find(has.begin(), has.end(), name) == has.end()) {
        return Error(err::kNoColumn,
                     fmt::format("'{}' has no column '{}', which {} has", file, name,
                                 follows_ ? "the first file" : fmt::format("'{}'", names_[0])))
            .at(file)
            .todo("files that are read together need the same columns");
      }
    }
    return Ok{};
  }

  // From time to time: what was made of the rows so far may be more than the run may hold.
  Status look_at_memory(const Row& row) {
    for (const Cell& cell : row.cells)
      if (const auto* text = std::get_if<std::string>(&cell))
        unseen_bytes_ += static_cast<int64_t>(text->size());
    if (++unseen_rows_ < kUnseenRows && unseen_bytes_ < kUnseenBytes) return Ok{};
    unseen_rows_ = unseen_bytes_ = 0;
    const int64_t above = bytes_above_ceiling();
    if (above <= 0) return Ok{};
    return Error(err::kRowsDoNotFit,
                 fmt::format("the first {} rows take {} more memory than the run may take to read "
                             "its data",
                             rows_, format_bytes(above)))
        .at(row.where())
        .todo(
            "prepare the rows once with hone prepare, and give its folder as `train_file`, which "
            "takes no memory; or raise `device_memory` or `host_memory`");
  }

  static constexpr int64_t kUnseenRows = 256, kUnseenBytes = int64_t{4} << 20;
  int64_t unseen_rows_ = 0, unseen_bytes_ = 0;
  std::vector<std::string> names_;
  RowOptions options_;
  std::vector<std::string> columns_;
  bool follows_;
  std::unique_ptr<RowReader> reader_;
  std::vector<size_t> to_;    // column of reader_ -> column of columns_
  std::vector<size_t> only_;  // of columns_; empty: all
  Row inner_;
  size_t file_ = 0;
  int64_t rows_ = 0;
};

}  // namespace

Result<std::vector<std::string>> expand_files(std::span<const std::string> patterns,
                                              const std::string& split) {
  std::vector<std::string> files;
  for (const std::string& pattern : patterns) {
    if (is_dataset_folder(pattern)) {
      for (std::string& file : HONE_TRY(dataset_files(pattern, split)))
        files.push_back(std::move(file));
      continue;
    }
    if (path_exists(pattern)) {
      files.push_back(pattern);
      continue;
    }
    if (pattern.find_first_of("*?[") == std::string::npos) return no_such_file(pattern);
    if (pattern.find("://") != std::string::npos) {  // only the last part has wildcards
      const size_t slash = pattern.rfind('/');
      const size_t before = files.size();
      for (const std::string& name : names_in(pattern.substr(0, slash)))
        if (::fnmatch(pattern.c_str() + slash + 1, name.c_str(), FNM_PERIOD) == 0)
          files.push_back(pattern.substr(0, slash + 1) + name);
      if (files.size() == before)
        return Error(err::kDataMissing, fmt::format("no file matches '{}'", pattern))
            .todo("check the folder with 'hone store ls'");
      continue;
    }
    glob_t found{};
    const int rc = ::glob(pattern.c_str(), 0, nullptr, &found);
    if (rc == 0) files.insert(files.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    if (rc != 0) {
      return Error(err::kDataMissing, fmt::format("no file matches '{}'", pattern))
          .todo(
              "put the pattern in quotes so that the shell leaves it alone, and check the folder");
    }
  }
  return files;
}

Result<std::unique_ptr<RowReader>> open_rows(std::vector<std::string> files,
                                             const RowOptions& options) {
  if (files.empty()) return Error(err::kDataMissing, "no data file was given");
  auto reader = std::make_unique<Files>(std::move(files), options);
  HONE_TRY(reader->open(0));
  return std::unique_ptr<RowReader>(std::move(reader));
}

Result<std::unique_ptr<RowReader>> open_rows_after(std::vector<std::string> columns,
                                                   std::vector<std::string> files,
                                                   const RowOptions& options) {
  auto reader = std::make_unique<Files>(std::move(files), options, std::move(columns));
  HONE_TRY(reader->open(0));
  return std::unique_ptr<RowReader>(std::move(reader));
}

Result<size_t> text_column(const RowReader& rows, const std::string& wanted) {
  const std::vector<std::string>& names = rows.columns();
  if (names.empty()) return Error(err::kNoRows, "the data has no rows").todo("check the file");
  const auto at = std::find(names.begin(), names.end(), wanted.empty() ? "text" : wanted);
  if (at != names.end()) return static_cast<size_t>(at - names.begin());
  if (wanted.empty()) return size_t{0};
  const std::string near = nearest_name(wanted, names);
  return Error(err::kNoColumn, fmt::format("the data has no column '{}'", wanted))
      .todo(fmt::format("{}its columns are {}",
                        near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                        join(names, ", ")));
}

namespace {

constexpr int kLookedAt = 1000;  // rows that tell what a column holds

bool is_number(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  if (!text)
    return std::holds_alternative<int64_t>(cell) || std::holds_alternative<double>(cell) ||
           std::holds_alternative<bool>(cell);
  const std::string_view trimmed = trim(*text);
  double value = 0;
  const auto [end, failed] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), value);
  return failed == std::errc() && end == trimmed.data() + trimmed.size() && std::isfinite(value);
}

bool is_missing(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return std::holds_alternative<std::monostate>(cell) || (text && trim(*text).empty());
}

}  // namespace

Status check_no_numbers(RowReader& rows, size_t column) {
  const RowPosition start = rows.position();
  Row row;
  bool numbers = false, text = false;
  for (int i = 0; i < kLookedAt && !text && HONE_TRY(rows.next(row)); ++i) {
    if (column >= row.cells.size() || is_missing(row.cells[column])) continue;
    (is_number(row.cells[column]) ? numbers : text) = true;
  }
  HONE_TRY(rows.seek(start));
  if (text || !numbers) return Ok{};
  const std::vector<std::string>& names = rows.columns();
  return Error(err::kNoColumn,
               fmt::format("there is no column 'text', and '{}' holds numbers", names[column]))
      .todo(fmt::format("name the column to learn from by `text_column`; the columns are {}",
                        join(names, ", ")));
}

Result<size_t> only_text_column(RowReader& rows) {
  const RowPosition start = rows.position();
  Row row;
  std::vector<size_t> found;
  for (int i = 0; i < kLookedAt && HONE_TRY(rows.next(row)); ++i)
    for (size_t c = 0; c < row.cells.size(); ++c) {
      const auto* text = std::get_if<std::string>(&row.cells[c]);
      if (text && text->find_first_not_of("0123456789+-.eE ") != std::string::npos &&
          std::find(found.begin(), found.end(), c) == found.end())
        found.push_back(c);
    }
  HONE_TRY(rows.seek(start));
  const std::vector<std::string>& names = rows.columns();
  const auto text = std::find(names.begin(), names.end(), "text");
  if (text != names.end()) return static_cast<size_t>(text - names.begin());
  if (found.size() == 1) return found[0];
  return Error(err::kNoColumn, found.empty() ? "no column of the data holds text"
                                             : "the data has no column 'text', and several that "
                                               "hold text")
      .todo(fmt::format("name the one to learn from by `text_column`; the columns are {}",
                        join(names, ", ")));
}

Result<int64_t> count_rows(RowReader& rows) {
  const RowPosition start = rows.position();
  Row row;
  int64_t count = 0;
  while (HONE_TRY(rows.next(row))) ++count;
  HONE_TRY(rows.seek(start));
  return count;
}

Status text_to_csv(const std::string& in, const std::string& out) {
  std::unique_ptr<Source> source = HONE_TRY(open_file_source(in));
  std::error_code failed;
  if (fs::equivalent(in, out, failed)) {
    return Error(err::kDataRead, fmt::format("'{}' cannot be turned into itself", in))
        .todo("give another name for the csv");
  }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(out.c_str(), "wb"), std::fclose);
  const auto cannot_write = [&] {
    return Error(err::kDataRead, fmt::format("cannot write '{}': {}", out, strerror(errno)))
        .todo("check the folder, its permissions and the free space");
  };
  if (!file) return cannot_write();
  bool ok = std::fputs("text\n\"", file.get()) >= 0;
  std::string chunk(1 << 20, '\0'), quoted;
  for (int64_t got;
       ok &&
       (got = HONE_TRY(source->read(chunk.data(), static_cast<int64_t>(chunk.size())))) > 0;) {
    quoted.clear();
    for (const char c : std::string_view(chunk.data(), static_cast<size_t>(got)))
      quoted.append(c == '"' ? 2 : 1, c);
    ok = std::fwrite(quoted.data(), 1, quoted.size(), file.get()) == quoted.size();
  }
  ok = ok && std::fputs("\"\n", file.get()) >= 0;
  if (std::fclose(file.release()) != 0 || !ok) return cannot_write();
  return Ok{};
}

bool names_data_file(const std::string& name) { return find_format(name, {}).ok(); }

}  // namespace hone

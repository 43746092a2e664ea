// .parquet, through libhone_parquet.so (parquet_module.h), which is loaded at the first use.
// Text, binary, integers, numbers, true/false and lists of integers or texts are read.
#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>

#include "learn/data/formats/errors.h"
#include "learn/data/formats/parquet_module.h"
#include "learn/data/formats/rows.h"

namespace hone {
namespace {

constexpr const char* kModule = "libhone_parquet.so";

Error missing(std::string why) {
  return Error(err::kParquetMissing, fmt::format("cannot read parquet: {}", std::move(why)))
      .todo(
          "pip install 'pyarrow==26.*' and build hone again, which then finds Arrow in it; or "
          "turn the file into jsonl: python -c \"import pandas; "
          "pandas.read_parquet('x.parquet').to_json('x.jsonl', orient='records', lines=True)\"");
}

// The module beside the program (or in its bin/ or ../lib/); loaded once, never unloaded.
Result<const HoneParquetApi*> load_module() {
  static Result<const HoneParquetApi*> loaded = []() -> Result<const HoneParquetApi*> {
    std::error_code failed;
    const std::filesystem::path program =
        std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
    std::string tried;
    for (const char* folder : {".", "bin", "../bin", "../lib", "../lib/hone"}) {
      const std::filesystem::path file = (program / folder / kModule).lexically_normal();
      if (!std::filesystem::exists(file, failed)) {
        tried = tried.empty() ? file.string() : tried;
        continue;
      }
      void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!handle) return missing(fmt::format("{} does not load: {}", file.string(), dlerror()));
      auto* api = reinterpret_cast<const HoneParquetApi* (*)()>(dlsym(handle, "hone_parquet_api"));
      if (!api || api()->abi != kHoneParquetAbi) {
        return missing(fmt::format("{} belongs to another version of hone", file.string()));
      }
      return api();
    }
    return missing(
        fmt::format("this build has no {} (looked for {}): Arrow was not there when it was built",
                    kModule, tried));
  }();
  return loaded;
}

class ParquetReader final : public RowReader {
 public:
  ParquetReader(const HoneParquetApi* api, std::unique_ptr<Source> source)
      : api_(api), source_(std::move(source)), file_(nullptr, api->close) {}

  Status open() {
    char error[512] = "";
    const std::string path = source_->path();
    file_.reset(api_->open(path.empty() ? nullptr : path.c_str(), source_->bytes().data(),
                           static_cast<int64_t>(source_->bytes().size()), error));
    if (!file_) return bad(error);
    for (int64_t i = 0; i < api_->columns(file_.get()); ++i)
      columns_.push_back(api_->column_name(file_.get(), i));
    cells_.resize(columns_.size());
    return Ok{};
  }

  const std::vector<std::string>& columns() const override { return columns_; }

  Result<bool> next(Row& row) override {
    const int32_t got = api_->next(file_.get(), cells_.data());
    if (got < 0)
      return bad(api_->error(file_.get())).at(fmt::format("{} row {}", source_->name(), at_ + 1));
    if (got == 0) return false;
    row.cells.resize(columns_.size());
    for (size_t i = 0; i < cells_.size(); ++i) {
      row.cells[i] = to_cell(cells_[i]);
      if (const auto* text = std::get_if<std::string>(&row.cells[i]);
          text && find_bad_utf8(*text) != std::string::npos) {
        Error error(err::kNotUtf8,
                    fmt::format("column '{}' holds bytes that are not UTF-8 text", columns_[i]));
        HONE_TRY(seek({0, at_, 0, rows_}));
        return std::move(error).at(fmt::format("{} row {}", source_->name(), at_ + 1));
      }
    }
    row.file = source_->name();
    row.line = ++at_;
    row.line_is_row = true;
    ++rows_;
    return true;
  }
  RowPosition position() const override { return {0, at_, 1, rows_}; }
  Status seek(const RowPosition& to) override {
    if (api_->seek(file_.get(), to.offset) != 0) return bad(api_->error(file_.get()));
    at_ = to.offset;
    rows_ = to.row;
    return Ok{};
  }

 private:
  Error bad(const char* why) const {
    return Error(err::kParquetRead,
                 fmt::format("cannot read '{}' as parquet: {}", source_->name(), preview(why, 300)))
        .todo("check that the file is whole and is parquet");
  }

  static Cell to_cell(const HoneParquetCell& c) {
    switch (c.kind) {
      case kHoneParquetNull:
        return {};
      case kHoneParquetText:
        return std::string(c.text.data, static_cast<size_t>(c.text.size));
      case kHoneParquetInteger:
        return c.integer;
      case kHoneParquetFloat:
        return c.number;
      case kHoneParquetBool:
        return c.integer != 0;
      case kHoneParquetIntegers:
        return std::vector<int64_t>(c.integers, c.integers + c.count);
      case kHoneParquetTexts:
        break;
    }
    std::vector<std::string> list;
    for (int64_t i = 0; i < c.count; ++i)
      list.emplace_back(c.texts[i].data, static_cast<size_t>(c.texts[i].size));
    return list;
  }

  const HoneParquetApi* api_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<HoneParquetFile, void (*)(HoneParquetFile*)> file_;
  std::vector<std::string> columns_;
  std::vector<HoneParquetCell> cells_;
  int64_t at_ = 0, rows_ = 0;
};

Result<std::unique_ptr<RowReader>> open_parquet(std::unique_ptr<Source> source, const RowOptions&) {
  const HoneParquetApi* api = HONE_TRY(load_module());
  auto reader = std::make_unique<ParquetReader>(api, std::move(source));
  HONE_TRY(reader->open());
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace

Format format_parquet() {
  return {"parquet", {"parquet", "pq"}, "Arrow's column format", open_parquet};
}

}  // namespace hone

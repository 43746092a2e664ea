#include "learn/data/formats/arrow_rows.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "base/core/json.h"
#include "base/core/module.h"
#include "base/core/text.h"
#include "base/store/mapped_file.h"
#include "base/store/store.h"
#include "learn/data/formats/errors.h"

namespace hone {
namespace {

constexpr const char* kModule = "libhone_arrow.so";

Error missing(std::string why) {
  return Error(err::kArrowMissing,
               fmt::format("cannot read parquet and Arrow files: {}", std::move(why)))
      .todo(
          "pip install 'pyarrow==26.*' and build hone again, which then finds Arrow in it; or "
          "turn the file into jsonl: python -c \"import pandas; "
          "pandas.read_parquet('x.parquet').to_json('x.jsonl', orient='records', lines=True)\"");
}

// Loaded at the first use.
Result<const HoneArrowApi*> arrow_api() {
  static Result<const HoneArrowApi*> loaded = []() -> Result<const HoneArrowApi*> {
    const Result<Module> module = load_beside_program(kModule);
    if (!module.ok()) return missing(module.error().what());
    const auto api = module->symbol<const HoneArrowApi* (*)()>("hone_arrow_api");
    if (!api || api()->abi != kHoneArrowAbi)
      return missing(fmt::format("{} belongs to another version of hone", kModule));
    return api();
  }();
  return loaded;
}

// {"info": {"features": {"label": {"names": ["negative", "positive"], "_type": "ClassLabel"}}}},
// the form of the `datasets` library; for a column of lists the feature of its elements. Other
// content gives no label names.
LabelNames label_names_of(const char* text) {
  LabelNames labels;
  const Result<Json> json = parse_json(text, "huggingface");
  if (!json.ok()) return labels;
  const Json::json_pointer features("/info/features");
  if (!json->is_object() || !json->contains(features)) return labels;
  for (const auto& [column, type] : (*json)[features].items()) {
    const Json& of_value =
        type.is_object() && type.contains("feature") ? type["feature"] : type;  // Sequence, List
    if (!of_value.is_object() || of_value.value("_type", Json()) != "ClassLabel") continue;
    std::vector<std::string> names;
    for (const Json& name : of_value.value("names", Json::array())) {
      if (name.is_string()) names.push_back(name);
    }
    if (!names.empty()) labels[column] = std::move(names);
  }
  return labels;
}

class ArrowReader final : public RowReader {
 public:
  ArrowReader(const HoneArrowApi* api, HoneArrowFormat format, std::unique_ptr<Source> source)
      : api_(api), format_(format), source_(std::move(source)), file_(nullptr, api->close) {}

  Status open() {
    char error[512] = "";
    const std::string path = source_->path();
    std::string_view bytes = source_->bytes();
    // A batch of an Arrow file may be the whole file, so it is mapped; parquet is read in pages.
    if (format_ == kHoneArrowIpc && !path.empty()) {
      mapped_ = HONE_TRY(MappedFile::open(path));
      bytes = mapped_->bytes();
    }
    HoneArrowInput input{.path = path.empty() || mapped_ ? nullptr : path.c_str(),
                         .bytes = bytes.data(),
                         .size = static_cast<int64_t>(bytes.size()),
                         .read = nullptr,
                         .reader = nullptr,
                         .most_bytes = is_bounded() ? source_->limits().whole_bytes : 0};
    if (Reader* reader = source_->ranges())
      input = {nullptr, nullptr, reader->bytes(), read_range, this, input.most_bytes};
    file_.reset(api_->open(format_, &input, error));
    HONE_TRY(check_unchanged());
    if (!file_) return bad(error);
    for (int64_t i = 0; i < api_->columns(file_.get()); ++i)
      columns_.push_back(api_->column_name(file_.get(), i));
    cells_.resize(columns_.size());
    return Ok{};
  }

  const std::vector<std::string>& columns() const override { return columns_; }

  void read_only(const std::vector<size_t>& columns) override {
    std::vector<int32_t> sorted(columns.begin(), columns.end());
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    if (sorted.empty() || sorted.back() >= static_cast<int32_t>(columns_.size())) return;
    api_->select(file_.get(), sorted.data(), static_cast<int32_t>(sorted.size()));
    chosen_ = true;
  }

  Result<bool> next(Row& row) override {
    if (std::exchange(chosen_, false)) HONE_TRY(seek(position()));
    if (const auto& stops = source_->limits().stops; stops && stops())
      return Error(err::kDataLimit, fmt::format("reading '{}' was stopped", source_->name()))
          .todo("ask again");
    const int32_t got = api_->next(file_.get(), cells_.data());
    if (got < 1) HONE_TRY(check_unchanged());
    if (got == kBeyondMemory && is_bounded()) return beyond_memory();
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
    if (mapped_ && (mapped_->lost() || at_ % kRowsBetweenChecks == 0)) HONE_TRY(check_unchanged());
    row.file = source_->name();
    row.line = ++at_;
    row.line_is_row = true;
    ++rows_;
    return true;
  }
  RowPosition position() const override { return {0, at_, 1, rows_}; }
  LabelNames label_names() const override {
    const char* text = api_->metadata(file_.get(), "huggingface");
    return text ? label_names_of(text) : LabelNames();
  }
  Status seek(const RowPosition& to) override {
    const bool moved = api_->seek(file_.get(), to.offset) == 0;
    chosen_ = false;
    HONE_TRY(check_unchanged());
    if (!moved) return bad(api_->error(file_.get()));
    at_ = to.offset;
    rows_ = to.row;
    return Ok{};
  }

 private:
  static constexpr int64_t kRowsBetweenChecks = 256;
  // True if memory is bounded; else a size that no memory holds is damage.
  bool is_bounded() const { return source_->limits().whole_bytes != ReadLimits().whole_bytes; }
  Error beyond_memory() const {
    return Error(err::kDataLimit,
                 fmt::format("'{}' holds parts that take more than {} of memory", source_->name(),
                             format_bytes(source_->limits().whole_bytes)))
        .at(fmt::format("{} row {}", source_->name(), at_ + 1))
        .todo(
            "write the file again in smaller parts: pyarrow.parquet.write_table(table, path, "
            "row_group_size=10_000, data_page_size=1_000_000)");
  }
  static constexpr int32_t kBeyondMemory = -2;

  static int32_t read_range(void* self, int64_t offset, int64_t bytes, void* to) {
    auto& me = *static_cast<ArrowReader*>(self);
    Status got = me.source_->ranges()->read(
        offset, {static_cast<std::byte*>(to), static_cast<size_t>(bytes)});
    if (got.ok()) return 0;
    std::lock_guard lock(me.mutex_);
    if (!me.unread_) me.unread_ = std::move(got.error());
    return -1;
  }

  Status check_unchanged() const { return mapped_ ? mapped_->check_unchanged() : Ok{}; }

  Error bad(const char* why) {
    std::lock_guard lock(mutex_);
    if (unread_) return *std::exchange(unread_, std::nullopt);
    const char* name = format_ == kHoneArrowParquet ? "parquet" : "Arrow";
    return Error(err::kArrowRead, fmt::format("cannot read '{}' as {}: {}", source_->name(), name,
                                              preview(why, 300)))
        .todo(fmt::format("check that the file is whole and is {}", name));
  }

  static Cell to_cell(const HoneArrowCell& c) {
    switch (c.kind) {
      case kHoneArrowNull:
        return {};
      case kHoneArrowText:
        return std::string(c.text.data, static_cast<size_t>(c.text.size));
      case kHoneArrowInteger:
        return c.integer;
      case kHoneArrowFloat:
        return c.number;
      case kHoneArrowBool:
        return c.integer != 0;
      case kHoneArrowIntegers:
        return std::vector<int64_t>(c.integers, c.integers + c.count);
      case kHoneArrowNested:
        return RawJson{std::string(c.text.data, static_cast<size_t>(c.text.size))};
      case kHoneArrowFile:
        return FileCell{std::string(c.text.data, static_cast<size_t>(c.text.size)),
                        std::string(c.texts[0].data, static_cast<size_t>(c.texts[0].size))};
      case kHoneArrowTexts:
        break;
    }
    std::vector<std::string> list;
    for (int64_t i = 0; i < c.count; ++i)
      list.emplace_back(c.texts[i].data, static_cast<size_t>(c.texts[i].size));
    return list;
  }

  const HoneArrowApi* api_;
  HoneArrowFormat format_;
  std::unique_ptr<Source> source_;
  std::mutex mutex_;                          // protects unread_
  std::optional<Error> unread_;               // why a part of a URL was not read
  bool chosen_ = false;                       // other columns: the next row needs a seek()
  std::shared_ptr<const MappedFile> mapped_;  // outlives file_
  std::unique_ptr<HoneArrowFile, void (*)(HoneArrowFile*)> file_;
  std::vector<std::string> columns_;
  std::vector<HoneArrowCell> cells_;
  int64_t at_ = 0, rows_ = 0;
};

}  // namespace

Result<std::unique_ptr<RowReader>> open_arrow_rows(HoneArrowFormat format,
                                                   std::unique_ptr<Source> source) {
  const HoneArrowApi* api = HONE_TRY(arrow_api());
  auto reader = std::make_unique<ArrowReader>(api, format, std::move(source));
  HONE_TRY(reader->open());
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace hone

#include "learn/files/text_input.h"

#include <algorithm>

#include "base/core/log.h"
#include "base/core/text.h"
#include "learn/data/rows/files.h"

namespace hone {
namespace {

class JsonLines final : public TextInput {
 public:
  explicit JsonLines(std::unique_ptr<Source> source) : in_(std::move(source)) { in_.skip_bom(); }
  Result<bool> next(TextItem& item) override {
    do {
      item.reset();
      item.is_json = true;
      item.line = in_.line();
      const bool more = in_.take_until('\n', item.text);
      HONE_TRY(in_.status());
      if (more)
        in_.get();
      else if (item.text.empty())
        return false;
    } while (item.text.find_first_not_of(" \t\r") == std::string::npos);
    return true;
  }

 private:
  ByteReader in_;
};

// Says which column is read where no name chose it; one of numbers, such as an index, is not a text.
Status tell_first_column(RowReader& rows, size_t column, const TextInputOptions& o) {
  const std::vector<std::string>& names = rows.columns();
  if (!o.column.empty() || names.size() < 2 || names[column] == "text") return Ok{};
  if (Status text = check_no_numbers(rows, column); !text.ok())
    return Error(std::move(text.error()))
        .at(o.file)
        .todo(fmt::format("name the column of the text by --text_column_name; the columns are {}",
                          join(names, ", ")));
  log_info("{:<11} column '{}' of {} (the first)", "text", names[column], o.file);
  return Ok{};
}

// Any other data file.
class DataRows final : public TextInput {
 public:
  static Result<std::unique_ptr<TextInput>> open(const TextInputOptions& o) {
    auto input = std::make_unique<DataRows>();
    input->options_ = o;
    RowOptions options;
    options.column_names = o.column_names;
    input->rows_ = HONE_TRY(open_rows({o.file}, options));
    input->column_ = HONE_TRY(text_column(*input->rows_, o.column));
    HONE_TRY(tell_first_column(*input->rows_, input->column_, o));
    const auto& columns = input->rows_->columns();
    const auto pair = std::find(columns.begin(), columns.end(), o.pair);
    if (pair != columns.end()) input->pair_ = static_cast<size_t>(pair - columns.begin());
    return std::unique_ptr<TextInput>(std::move(input));
  }
  Result<bool> next(TextItem& item) override {
    if (!HONE_TRY(rows_->next(row_))) return false;
    item.reset();
    item.text = HONE_TRY(cell_text(row_, column_, options_.column_name()));
    if (pair_) item.pair = HONE_TRY(cell_text(row_, *pair_, options_.pair));
    item.line = row_.line;
    return true;
  }

 private:
  TextInputOptions options_;
  std::unique_ptr<RowReader> rows_;
  size_t column_ = 0;
  std::optional<size_t> pair_;
  Row row_;
};

}  // namespace

Result<std::unique_ptr<TextInput>> open_text_input(const TextInputOptions& o) {
  const bool lines = o.file == "-" || o.file.ends_with(".jsonl") || o.file.ends_with(".ndjson");
  if (!lines) return DataRows::open(o);
  auto source = HONE_TRY(open_file_source(o.file == "-" ? "/dev/stdin" : o.file));
  return std::unique_ptr<TextInput>(std::make_unique<JsonLines>(std::move(source)));
}

}  // namespace hone

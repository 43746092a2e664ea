// .json: an array of objects; an object that holds such an array under "data" (or the key that
// RowOptions::json_field names); or objects one a line, as many files of that name are.
// The file is streamed: memory is that of one row.
#include "learn/data/formats/errors.h"
#include "learn/data/formats/json_rows.h"

namespace hone {
namespace {

class JsonArrayReader final : public RowReader {
 public:
  JsonArrayReader(std::unique_ptr<Source> source, std::string field)
      : in_(std::move(source)), field_(std::move(field)) {}
  const std::vector<std::string>& columns() const override { return columns_; }

  // Moves to the first element and names the columns after it.
  Status begin() {
    in_.skip_bom();
    if (skip_json_space(in_) == '{') HONE_TRY(enter_field());
    if (skip_json_space(in_) != '[') {
      HONE_TRY(in_.status());
      return Error(err::kJsonData, "a .json file is an array of objects, or {\"data\": [...]}")
          .at(in_.here());
    }
    in_.get();
    const int64_t offset = in_.offset(), line = in_.line(), column = in_.column();
    Row row;
    HONE_TRY(next(row));
    rows_ = 0;
    ended_ = false;
    return in_.seek(offset, line, column);
  }

  Result<bool> next(Row& row) override {
    if (ended_) return false;
    const int64_t offset = in_.offset(), line = in_.line(), column = in_.column();
    Result<bool> found = element(row);
    if (!found.ok()) (void)in_.seek(offset, line, column).ok();
    return found;
  }
  RowPosition position() const override { return {0, in_.offset(), in_.line(), rows_}; }
  Status seek(const RowPosition& at) override {
    rows_ = at.row;
    ended_ = false;
    return in_.seek(at.offset, at.line);
  }

 private:
  // The next byte stands before an element, before its comma, or before the closing bracket
  // (also when it was reached before: the bracket is never consumed).
  Result<bool> element(Row& row) {
    int c = skip_json_space(in_);
    if (rows_ > 0 && c == ',') {
      in_.get();
      c = skip_json_space(in_);
      if (c == ']') return syntax("a comma stands before the closing bracket");
    } else if (rows_ > 0 && c != ']' && c != ByteReader::kEnd) {
      return syntax("a comma is missing between two elements");
    }
    HONE_TRY(in_.status());
    if (c == ']') {
      ended_ = true;
      return false;
    }
    if (c == ByteReader::kEnd) return syntax("the array does not end: was the file cut off?");
    const int64_t line = in_.line(), column = in_.column();
    text_.clear();
    HONE_TRY(take_json_value(in_, text_));
    HONE_TRY(json_row(text_, in_.name(), line, column, columns_, row));
    row.file = in_.name();
    row.line = line;
    row.line_is_row = false;
    ++rows_;
    return true;
  }

  // From { to the value of field_, which must be there.
  Status enter_field() {
    std::string seen, key;
    in_.get();
    for (;;) {
      int c = skip_json_space(in_);
      if (c != '"') {
        return Error(err::kJsonData, fmt::format("no key \"{}\" with an array of rows", field_))
            .at(in_.here())
            .todo(seen.empty() ? "a .json file is an array of objects, or {\"data\": [...]}"
                               : fmt::format("the keys there are {}", preview(seen, 200)));
      }
      key.clear();
      HONE_TRY(take_json_value(in_, key));
      if (skip_json_space(in_) != ':') return syntax("a colon is missing behind a key");
      in_.get();
      if (key == '"' + field_ + '"') return Ok{};
      seen += (seen.empty() ? "" : ", ") + key;
      HONE_TRY(take_json_value(in_, key));
      if (skip_json_space(in_) == ',') in_.get();
    }
  }

  Error syntax(const char* what) const { return Error(err::kJsonData, what).at(in_.here()); }

  ByteReader in_;
  std::string field_, text_;
  std::vector<std::string> columns_;
  int64_t rows_ = 0;
  bool ended_ = false;
};

// Whether the file is an object a line: its first value is an object that lacks an array of
// objects under `field`. Reads that far, then goes back.
Result<bool> is_json_lines(std::unique_ptr<Source>& source, const std::string& field) {
  ByteReader in(std::move(source));
  in.skip_bom();
  bool lines = false;
  if (const int first = skip_json_space(in); first == '"') {
    lines = true;
  } else if (first == '{') {
    lines = true;
    in.get();
    std::string key;
    while (skip_json_space(in) == '"') {
      key.clear();
      HONE_TRY(take_json_value(in, key));
      if (skip_json_space(in) != ':') break;
      in.get();
      const int value = skip_json_space(in);
      if (key == '"' + field + '"' && value == '[') {
        in.get();
        lines = skip_json_space(in) != '{';
        break;
      }
      key.clear();
      HONE_TRY(take_json_value(in, key));
      if (skip_json_space(in) == ',') in.get();
    }
  }
  HONE_TRY(in.status());
  HONE_TRY(in.source().seek(0));
  source = in.release();
  return lines;
}

Result<std::unique_ptr<RowReader>> open_json(std::unique_ptr<Source> source,
                                             const RowOptions& options) {
  const std::string field = options.json_field.empty() ? "data" : options.json_field;
  if (options.json_field.empty() && HONE_TRY(is_json_lines(source, field))) {
    return open_json_lines(std::move(source));
  }
  auto reader = std::make_unique<JsonArrayReader>(std::move(source), field);
  HONE_TRY(reader->begin());
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace

Format format_json() {
  return {
      "json", {"json"}, "an array of objects, {\"data\": [...]}, or an object a line", open_json};
}

}  // namespace hone

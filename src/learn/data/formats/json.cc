// .json, in one of these shapes:
//
//   [{...}, {...}]                        an array of rows
//   {"data": [{...}, ...], ...}           the array under "data", or RowOptions::json_field
//   {"0": {...}, "1": {...}}              an object of rows: pandas' orient="index"; the keys are
//                                         not read
//   {...}  {...}                          a row a line, or rows over several lines, as jq and
//                                         json.dump with an indent write them
//
// An object whose values are all objects and that is the whole file is an object of rows. If the
// first of these values has a number as its first key, it is pandas' orient="columns" ({"text":
// {"0": ..., "1": ...}}), which cannot be streamed and is refused. The file is streamed: memory
// holds one row.
#include <algorithm>

#include "learn/data/formats/errors.h"
#include "learn/data/formats/json_rows.h"
#include "learn/data/formats/text_row_reader.h"

namespace hone {
namespace {

constexpr const char* kShapes =
    "a .json file is an array of objects, {\"data\": [...]}, or an object of objects";

// The rows of an array or of an object.
class JsonRowsReader final : public TextRowReader {
 public:
  JsonRowsReader(ByteReader in, std::string field)
      : TextRowReader(std::move(in)), field_(std::move(field)) {}

  // Moves to the first row, under field_ unless that is empty, and names the columns after it.
  Status begin() {
    if (skip_json_space(in_) == '{' && !field_.empty()) HONE_TRY(enter_field());
    const int open = skip_json_space(in_);
    HONE_TRY(in_.status());
    if (open != '[' && open != '{') return Error(err::kJsonData, kShapes).at(in_.here());
    keyed_ = open == '{';
    in_.get();
    return look_at_first_row();
  }

 private:
  // The next byte is before a row, before its comma, or before the closing bracket, which is
  // never consumed.
  Result<bool> read_row(Row& row) override {
    const char close = keyed_ ? '}' : ']';
    int c = skip_json_space(in_);
    if (rows_ > 0 && c == ',') {
      in_.get();
      c = skip_json_space(in_);
      if (c == close) return syntax("a comma comes before the closing bracket");
    } else if (rows_ > 0 && c != close && c != ByteReader::kEnd) {
      return syntax("a comma is missing between two elements");
    }
    HONE_TRY(in_.status());
    if (c == close) return check_end();
    if (c == ByteReader::kEnd)
      return syntax(keyed_ ? "the object does not end: was the file cut off?"
                           : "the array does not end: was the file cut off?");
    if (keyed_) {
      HONE_TRY(take_key(text_));
      c = skip_json_space(in_);
    }
    row.line = in_.line();
    const int64_t column = in_.column();
    text_.clear();
    HONE_TRY(take_json_value(in_, text_));
    HONE_TRY(json_row(text_, in_.name(), row.line, column, columns_, row));
    return true;
  }

  // The last row has been read: false, unless more than white space is after the closing bracket.
  Result<bool> check_end() {
    if (!field_.empty()) return false;  // other keys may be there
    size_t ahead = 1;
    int c = in_.peek(ahead);
    while (c == ' ' || c == '\n' || c == '\r' || c == '\t') c = in_.peek(++ahead);
    HONE_TRY(in_.status());
    if (c == ByteReader::kEnd) return false;
    return Error(err::kJsonData,
                 fmt::format("'{}' comes after the end of the rows", static_cast<char>(c)))
        .at(in_.here())
        .todo("write all rows in one array, or each on its own line");
  }

  // From { to the value of field_, which must be there.
  Status enter_field() {
    std::string seen, key;
    in_.get();
    for (;;) {
      if (skip_json_space(in_) != '"') {
        return Error(err::kJsonData, fmt::format("no key \"{}\" with an array of rows", field_))
            .at(in_.here())
            .todo(seen.empty() ? kShapes
                               : fmt::format("the keys there are {}", preview(seen, 200)));
      }
      HONE_TRY(take_key(key));
      if (key == '"' + field_ + '"') return Ok{};
      seen += (seen.empty() ? "" : ", ") + key;
      key.clear();
      HONE_TRY(take_json_value(in_, key));
      if (skip_json_space(in_) == ',') in_.get();
    }
  }

  Status take_key(std::string& key) {
    if (in_.peek() != '"') return syntax("a key in quotes is missing");
    key.clear();
    HONE_TRY(take_json_value(in_, key));
    if (skip_json_space(in_) != ':') return syntax("a colon is missing after a key");
    in_.get();
    return Ok{};
  }

  Error syntax(const char* what) const { return Error(err::kJsonData, what).at(in_.here()); }

  std::string field_, text_;
  bool keyed_ = false;
};

enum class Shape { kRows, kRowsUnderField, kLines };

// Whether an object, given as text, has a number as its first key.
bool first_key_is_number(std::string_view object) {
  const size_t begin = object.find_first_not_of(" \t\r\n", 1);
  if (object[0] != '{' || begin == std::string::npos || object[begin] != '"') return false;
  const size_t end = object.find('"', begin + 1);
  const std::string_view key = object.substr(begin + 1, end - begin - 1);
  return !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
}

// Reads as far as the shape of the file needs, which of an object of rows is all of it.
Result<Shape> find_shape(ByteReader& in, const std::string& field) {
  const int first = skip_json_space(in);
  if (first == '"') return Shape::kLines;
  if (first != '{') return Shape::kRows;
  const std::string begin = in.here();
  in.get();
  int64_t keys = 0;
  bool objects = true, columns = false;
  std::string text;
  while (skip_json_space(in) == '"') {
    text.clear();
    HONE_TRY(take_json_value(in, text));
    if (skip_json_space(in) != ':') return Shape::kLines;
    in.get();
    const int value = skip_json_space(in);
    if (text == '"' + field + '"' && value == '[') {
      const int64_t offset = in.offset(), line = in.line(), column = in.column();
      in.get();
      if (skip_json_space(in) == '{') return Shape::kRowsUnderField;
      HONE_TRY(in.seek(offset, line, column));
    }
    text.clear();
    HONE_TRY(take_json_value(in, text));
    if (keys++ == 0) columns = first_key_is_number(text);
    objects = objects && value == '{';
    if (skip_json_space(in) == ',') in.get();
  }
  const int close = in.get();
  if (keys == 0 || !objects || (close == '}' && skip_json_space(in) != ByteReader::kEnd))
    return Shape::kLines;
  if (columns) {
    return Error(err::kJsonData,
                 "the file holds columns (\"column\": {\"0\": ...}), not rows: such a file is not "
                 "read")
        .at(begin)
        .todo(
            "write it with pandas' df.to_json('x.jsonl', orient='records', lines=True), or "
            "orient='index'");
  }
  return Shape::kRows;
}

Result<std::unique_ptr<RowReader>> open_json(std::unique_ptr<Source> source,
                                             const RowOptions& options) {
  ByteReader in(std::move(source));
  in.skip_bom();
  std::string field = options.json_field;
  if (field.empty()) {
    const int64_t offset = in.offset(), line = in.line(), column = in.column();
    const Shape shape = HONE_TRY(find_shape(in, "data"));
    HONE_TRY(in.status());
    HONE_TRY(in.seek(offset, line, column));
    if (shape == Shape::kLines) return open_json_values(std::move(in));
    if (shape == Shape::kRowsUnderField) field = "data";
  }
  auto reader = std::make_unique<JsonRowsReader>(std::move(in), field);
  HONE_TRY(reader->begin());
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace

Format format_json() {
  return {"json",
          {"json"},
          "an array or object of objects, {\"data\": [...]}, or objects one after another",
          open_json,
          true};
}

}  // namespace hone

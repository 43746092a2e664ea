#include "learn/data/formats/json_rows.h"

#include <algorithm>

#include "base/core/json.h"
#include "learn/data/formats/errors.h"
#include "learn/data/formats/text_row_reader.h"

namespace hone {
namespace {

constexpr int kMaxJsonDepth = 200;  // printing nested values recurses

// `constants`: NaN or an infinity may be within, which the library's own dump writes as null.
Cell to_cell(OrderedJson& value, bool constants) {
  switch (value.type()) {
    case OrderedJson::value_t::null:
      return {};
    case OrderedJson::value_t::string:
      return Cell(std::move(value.get_ref<std::string&>()));
    case OrderedJson::value_t::boolean:
      return value.get<bool>();
    case OrderedJson::value_t::number_integer:
      return value.get<int64_t>();
    case OrderedJson::value_t::number_unsigned:
      if (value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return value.get<double>();
      return value.get<int64_t>();
    case OrderedJson::value_t::number_float:
      return value.get<double>();
    default:
      break;
  }
  const auto integer = [](const OrderedJson& v) {
    return v.is_number_integer() &&
           !(v.is_number_unsigned() && v.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX));
  };
  if (value.is_array() && std::all_of(value.begin(), value.end(), integer)) {
    std::vector<int64_t> list;
    for (const OrderedJson& item : value) list.push_back(item.get<int64_t>());
    return list;
  }
  if (value.is_array() &&
      std::all_of(value.begin(), value.end(), [](const OrderedJson& v) { return v.is_string(); })) {
    std::vector<std::string> list;
    for (OrderedJson& item : value) list.push_back(std::move(item.get_ref<std::string&>()));
    return list;
  }
  return RawJson{constants ? dump_json(value) : value.dump()};
}

// `text` with 0 and spaces in place of each NaN, Infinity and -Infinity outside quotes; "" if there
// are none. All other bytes keep their places.
std::string without_constants(std::string_view text) {
  constexpr std::string_view kConstants[] = {"NaN", "Infinity"};
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted && text[i] == '\\') ++i;
    if (quoted) continue;
    for (const std::string_view constant : kConstants) {
      if (text.substr(i, constant.size()) != constant) continue;
      if (out.empty()) out = text;
      out.replace(i, constant.size(), "0" + std::string(constant.size() - 1, ' '));
      i += constant.size() - 1;
      break;
    }
  }
  return out;
}

// Parses strictly, except for the constants of Python; sets `constants` if there are any.
std::optional<JsonFault> parse_row(std::string_view text, OrderedJson& value, bool& constants) {
  JsonRules rules{.strict = true, .max_depth = kMaxJsonDepth};
  const auto fault = parse_json(text, rules, value);
  if (!fault) return {};
  const std::string numbers = without_constants(text);
  if (numbers.empty()) return fault;
  constants = true;
  if (auto other = parse_json(numbers, rules, value)) return other;
  rules.strict = false;
  return parse_json(text, rules, value);
}

class JsonLinesReader final : public TextRowReader {
 public:
  using TextRowReader::look_at_first_row;
  using TextRowReader::TextRowReader;

 private:
  Result<bool> read_row(Row& row) override {
    for (;;) {
      row.line = in_.line();
      const int64_t column = in_.column();
      text_.clear();
      const bool more = in_.take_until('\n', text_);
      if (more) in_.get();
      HONE_TRY(in_.status());
      if (text_.find_first_not_of(" \t\r") == std::string::npos) {
        if (!more) return false;
        continue;
      }
      HONE_TRY(json_row(text_, in_.name(), row.line, column, columns_, row));
      return true;
    }
  }

  std::string text_;
};

// Values with white space, or nothing, between them.
class JsonValuesReader final : public TextRowReader {
 public:
  using TextRowReader::look_at_first_row;
  using TextRowReader::TextRowReader;

 private:
  Result<bool> read_row(Row& row) override {
    if (skip_json_space(in_) == ByteReader::kEnd) return false;
    row.line = in_.line();
    const int64_t column = in_.column();
    text_.clear();
    HONE_TRY(take_json_value(in_, text_));
    if (text_.empty())
      return Error(err::kJsonData,
                   fmt::format("'{}' comes where a row begins", static_cast<char>(in_.peek())))
          .at(in_.here())
          .todo("write rows one after another without commas, or all of them in one array");
    HONE_TRY(json_row(text_, in_.name(), row.line, column, columns_, row));
    return true;
  }

  std::string text_;
};

constexpr size_t kMostFirstRow = 64 << 20;  // bytes that are looked at

// The object that begins at the next byte, or as much of it as may be one: texts end within their
// line.
std::string first_object(ByteReader& in) {
  std::string text;
  bool quoted = false;
  for (int64_t depth = 0; text.size() < kMostFirstRow;) {
    const int c = in.get();
    if (c == ByteReader::kEnd || (quoted && c == '\n')) break;
    text += static_cast<char>(c);
    if (quoted && c == '\\') {
      if (const int next = in.get(); next != ByteReader::kEnd) text += static_cast<char>(next);
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) break;
  }
  return text;
}

// Whether the first value is complete JSON on more than one line. Goes back to where the reader
// was.
Result<bool> begins_over_lines(ByteReader& in) {
  const int64_t offset = in.offset(), line = in.line(), column = in.column();
  const bool object = skip_json_space(in) == '{';
  const int64_t begin = in.line();
  OrderedJson value;
  bool constants = false;
  const std::string text = object ? first_object(in) : "";
  const bool over_lines = in.line() > begin && !parse_row(text, value, constants);
  HONE_TRY(in.status());
  HONE_TRY(in.seek(offset, line, column));
  return over_lines;
}

template <class Reader>
Result<std::unique_ptr<RowReader>> opened(ByteReader in) {
  auto reader = std::make_unique<Reader>(std::move(in));
  HONE_TRY(reader->look_at_first_row());
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace

Status json_row(std::string_view text, const std::string& file, int64_t line, int64_t column,
                std::vector<std::string>& columns, Row& row) {
  HONE_TRY(check_utf8(text, file, line, column));
  OrderedJson value;
  bool constants = false;
  if (const auto fault = parse_row(text, value, constants)) {
    const TextPlace in_row = fault->place;  // the row may begin within a line
    return Error(err::kJsonData, fmt::format("not JSON: {}", fault->what))
        .at(fmt::format("{}:{}:{}", file, line + in_row.line - 1,
                        in_row.column + (in_row.line == 1 ? column - 1 : 0)))
        .todo(
            "each row is one object, for example {\"text\": \"...\"}; in .jsonl each on its own "
            "line");
  }
  row.cells.assign(columns.size(), Cell());
  const auto put = [&](const std::string& name, Cell cell) {
    const auto at = std::find(columns.begin(), columns.end(), name) - columns.begin();
    if (at == static_cast<std::ptrdiff_t>(columns.size())) {
      columns.push_back(name);
      row.cells.emplace_back();
    }
    row.cells[static_cast<size_t>(at)] = std::move(cell);
  };
  if (value.is_object()) {
    for (auto& [key, item] : value.items()) put(key, to_cell(item, constants));
    return Ok{};
  }
  if (value.is_string()) {
    put("text", to_cell(value, constants));
    return Ok{};
  }
  return Error(err::kJsonData,
               fmt::format("a row is {} {}, not an object", value.type_name(), preview(text, 30)))
      .at(fmt::format("{}:{}:{}", file, line, column))
      .todo("write each row as an object, for example {\"text\": \"...\"}");
}

int skip_json_space(ByteReader& in) {
  int c;
  while ((c = in.peek()) == ' ' || c == '\n' || c == '\r' || c == '\t') in.get();
  return c;
}

Result<bool> take_json_value(ByteReader& in, std::string& to) {
  in.begin_row();
  if (skip_json_space(in) == ByteReader::kEnd) {
    HONE_TRY(in.status());
    return false;
  }
  const std::string begin = in.here();
  int64_t depth = 0;
  for (;;) {
    const int c = in.peek();
    if (depth == 0 && (c == ',' || c == ']' || c == '}' || c == ByteReader::kEnd)) break;
    if (c == ByteReader::kEnd) {
      HONE_TRY(in.status());
      return Error(err::kJsonData, "a value does not end before the end of the file")
          .at(begin)
          .todo("close its brackets and quotes; was the file cut off?");
    }
    to += static_cast<char>(in.get());
    if (c == '"') {
      for (;;) {
        const int s = in.get();
        if (s == ByteReader::kEnd) {
          HONE_TRY(in.status());
          return Error(err::kJsonData, "a text does not end before the end of the file")
              .at(begin)
              .todo("close its quotes; was the file cut off?");
        }
        to += static_cast<char>(s);
        if (s == '\\') {
          if (const int e = in.get(); e != ByteReader::kEnd) to += static_cast<char>(e);
        } else if (s == '"') {
          break;
        }
      }
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth == 0 && (c == '"' || c == '}' || c == ']')) break;
  }
  HONE_TRY(in.status());
  return true;
}

Result<std::unique_ptr<RowReader>> open_json_values(ByteReader in) {
  in.skip_bom();
  return HONE_TRY(begins_over_lines(in)) ? opened<JsonValuesReader>(std::move(in))
                                         : opened<JsonLinesReader>(std::move(in));
}

}  // namespace hone

#include "learn/files/text_parser.h"

#include "base/core/text.h"
#include "learn/data/formats/json_rows.h"
#include "learn/files/errors.h"

namespace hone {

// A row that is an object with nothing but texts, the usual case; nothing for every other line.
std::optional<TextParser::Texts> TextParser::parse_fast(const TextItem& item,
                                                        const TextInputOptions& from) {
  simdjson::dom::object row;
  Texts texts;
  bool found = false;
  if (parser_.parse(item.text).get(row)) return std::nullopt;
  const std::string_view wanted = from.column.empty() ? "text" : std::string_view(from.column);
  for (const auto [key, value] : row) {
    std::string_view text;
    if (value.get(text) || (key == wanted && found)) return std::nullopt;
    if (key == wanted) texts.text = text, found = true;
    if (key == from.pair) texts.pair = text;
  }
  return found ? std::optional(texts) : std::nullopt;
}

Result<TextParser::Texts> TextParser::parse(const TextItem& item, const TextInputOptions& from) {
  if (!item.is_json) return Texts{item.text, item.pair};
  if (const auto texts = parse_fast(item, from)) return *texts;
  Texts texts;
  std::vector<std::string> columns;
  Row row;
  HONE_TRY(json_row(item.text, from.name(), item.line, 1, columns, row));
  const std::string wanted = from.column_name();
  std::string* text = nullptr;
  for (size_t i = 0; i < columns.size(); ++i) {
    auto* cell = std::get_if<std::string>(&row.cells[i]);
    if (columns[i] == wanted) text = cell;
    if (columns[i] == from.pair && cell != nullptr) texts.pair = pair_ = std::move(*cell);
  }
  if (text == nullptr)
    return Error(err::kRowWithoutText,
                 fmt::format("the row has no text under '{}'; its keys are: {}", wanted,
                             join(columns, ", ")))
        .at(place_of(item, from))
        .todo("write rows as {\"text\": \"...\"}, or name the key with --text_column_name");
  texts.text = text_ = std::move(*text);
  return texts;
}

std::string place_of(const TextItem& item, const TextInputOptions& from) {
  return fmt::format("{}:{}", from.name(), item.line);
}

}  // namespace hone

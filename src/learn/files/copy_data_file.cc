#include "learn/files/copy_data_file.h"

#include "base/core/text.h"
#include "base/store/places/transfer.h"
#include "base/store/store.h"

namespace hone {

void TextColumns::change(OrderedJson& row) {
  if (!row.is_object()) return;
  for (const auto* columns : {&joined_, &first_})
    for (const std::string& column : *columns) {
      const auto at = row.find(column);
      if (at == row.end() || !at->is_array() || at->empty()) continue;
      std::vector<std::string> texts;
      for (const OrderedJson& text : *at)
        if (text.is_string()) texts.push_back(text.get<std::string>());
      if (texts.size() != at->size()) continue;  // training says what is wrong with it
      *at = columns == &joined_ ? join(texts, " ") : texts[0];
      ++changed_[column];
    }
}

std::vector<TextColumns::Changed> TextColumns::changed() const {
  std::vector<Changed> all;
  for (const auto& [column, rows] : changed_)
    all.push_back({column, rows, joined_.contains(column)});
  return all;
}

namespace {

// Line by line, so that a file of any size passes.
Status copy_lines(const std::string& from, const std::string& to, TextColumns& columns) {
  constexpr int64_t kBlock = 4 << 20;
  Store& store = file_store();
  auto reader = HONE_TRY(store.open(from));
  auto writer = HONE_TRY(store.create(to));
  std::string rest;
  int64_t line = 0;
  const auto put = [&](std::string_view text) -> Status {
    ++line;
    if (trim(text).empty()) return writer->write("\n");  // rows stay in their lines
    OrderedJson row = HONE_TRY(parse_ordered_json(text, fmt::format("{}:{}", from, line)));
    columns.change(row);
    return writer->write(dump_json(row) + "\n");
  };
  for (int64_t at = 0; at < reader->bytes();) {
    std::string block(static_cast<size_t>(std::min(kBlock, reader->bytes() - at)), '\0');
    HONE_TRY(reader->read(at, std::as_writable_bytes(std::span(block))));
    at += static_cast<int64_t>(block.size());
    rest += block;
    size_t begin = 0;
    for (size_t end; (end = rest.find('\n', begin)) != std::string::npos; begin = end + 1)
      HONE_TRY(put(std::string_view(rest).substr(begin, end - begin)));
    rest.erase(0, begin);
  }
  if (!rest.empty()) HONE_TRY(put(rest));
  return writer->commit();
}

}  // namespace

Status copy_data_file(const std::string& from, const std::string& to, TextColumns& columns) {
  const std::string name = to_lower(to);
  if (columns.any() && name.ends_with(".jsonl")) return copy_lines(from, to, columns);
  if (columns.any() && name.ends_with(".json")) {
    const std::string text = HONE_TRY(file_store().read(from));
    auto rows = parse_ordered_json(text, from);
    if (!rows.ok()) return copy_lines(from, to, columns);  // an object a line
    if (rows->is_array())
      for (OrderedJson& row : *rows) columns.change(row);
    return file_store().write(to, dump_json(*rows) + "\n");
  }
  HONE_TRY(copy_file(file_store(), from, to));
  return Ok{};
}

}  // namespace hone

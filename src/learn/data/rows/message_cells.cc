#include "learn/data/rows/message_cells.h"

#include "base/core/text.h"
#include "learn/data/formats/errors.h"

namespace hone {
namespace {

// ShareGPT's names of speakers.
std::string role_of(const std::string& from) {
  if (from == "human") return "user";
  if (from == "gpt" || from == "function_call") return "assistant";
  return from == "observation" ? "tool" : from;
}

}  // namespace

bool is_null_cell(const Cell& cell) { return std::holds_alternative<std::monostate>(cell); }

std::string MessageCells::place(const Row& row, size_t column) const {
  return fmt::format("{}, column '{}'", row.where(), rows_->columns()[column]);
}

Error MessageCells::wrong(const Row& row, size_t column, const std::string& what) const {
  return Error(err::kCellType, what).at(place(row, column)).todo(advice_);
}

Result<OrderedJson> MessageCells::json(const Row& row, size_t column, const char* needed) const {
  const Cell& cell = row.cells[column];
  std::string text;
  if (const auto* raw = std::get_if<RawJson>(&cell)) text = raw->text;
  if (const auto* written = std::get_if<std::string>(&cell)) text = *written;
  OrderedJson value;
  JsonRules rules;
  rules.max_depth = 64;
  if (text.empty() || parse_json(text, rules, value))
    return wrong(row, column,
                 fmt::format("column '{}' holds {}, not {}", rows_->columns()[column],
                             cell_type_name(cell), needed));
  return value;
}

Result<OrderedJson> MessageCells::messages(const Row& row, size_t column) const {
  const OrderedJson given = HONE_TRY(json(row, column, "a list of messages"));
  if (!given.is_array()) return wrong(row, column, "the messages are not a list");
  OrderedJson out = OrderedJson::array();
  for (const OrderedJson& one : given) {
    if (!one.is_object()) return wrong(row, column, "a message is not an object");
    OrderedJson m = OrderedJson::object();
    for (const auto& [key, part] : one.items())
      if (key != "from" && key != "value") m[key] = part;
    if (!m.contains("role") && one.contains("from")) m["role"] = role_of(text_at(one, "from"));
    if (!m.contains("content") && one.contains("value")) m["content"] = one["value"];
    if (!m.contains("role") || !m["role"].is_string() || m["role"].get<std::string>().empty())
      return wrong(row, column, fmt::format("message {} has no role", out.size() + 1));
    if (!m.contains("content")) m["content"] = nullptr;
    if (!m["content"].is_string() && !m["content"].is_array() && !m["content"].is_null())
      return wrong(row, column,
                   fmt::format("the content of message {} is not a text", out.size() + 1));
    out.push_back(std::move(m));
  }
  return out;
}

Result<std::string> MessageCells::text(const Row& row, size_t column) const {
  return std::string(HONE_TRY(cell_text(row, column, rows_->columns()[column])));
}

Result<OrderedJson> MessageCells::value(const Row& row, size_t column) const {
  if (std::holds_alternative<RawJson>(row.cells[column])) return messages(row, column);
  return OrderedJson(HONE_TRY(text(row, column)));
}

}  // namespace hone

#include "learn/data/rows/instruction_rows.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/columns.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/files.h"

namespace hone {
namespace {

constexpr const char* kForms =
    "rows have messages, or prompt and completion, or instruction and output, or a text in the "
    "column "
    "that `dataset_text_field` names";

// ShareGPT's names of who speaks.
std::string role_of(const std::string& from) {
  if (from == "human") return "user";
  if (from == "gpt" || from == "function_call") return "assistant";
  return from == "observation" ? "tool" : from;
}

bool is_null(const Cell& cell) { return std::holds_alternative<std::monostate>(cell); }

OrderedJson message(const char* role, std::string content) {
  return {{"role", role}, {"content", std::move(content)}};
}

}  // namespace

std::string InstructionReader::place(size_t column) const {
  return fmt::format("{}, column '{}'", row_.where(), rows_->columns()[column]);
}

Error InstructionReader::wrong(size_t column, const std::string& what) const {
  return Error(err::kCellType, what)
      .at(place(column))
      .todo(R"(write {"messages": [{"role": "user", "content": "..."}, {"role": "assistant", )"
            R"("content": "..."}]}, or {"prompt": "...", "completion": "..."})");
}

Result<InstructionReader> InstructionReader::open(const std::vector<std::string>& files,
                                                  const RowOptions& options,
                                                  const std::string& text_column) {
  InstructionReader out;
  out.rows_ = HONE_TRY(open_rows(files, options));
  const RowPosition start = out.rows_->position();
  if (!HONE_TRY(out.rows_->next(out.row_)))
    return Error(err::kNoRows, "the data has no rows").at(files[0]).todo("give more data");
  const std::vector<std::string>& columns = out.rows_->columns();
  const auto find = [&](const char* name) { return place_of(columns, name); };
  std::vector<size_t> wanted;
  const auto pair = [&](const char* one, const char* other, Form form) {
    const auto a = find(one), b = find(other);
    if (!a || !b) return false;
    out.form_ = form;
    out.first_ = *a, out.second_ = *b;
    wanted = {*a, *b};
    out.note_ = fmt::format("{} and {}", one, other);
    return true;
  };
  const auto beside = [&](const char* name, std::optional<size_t>& to) {
    if ((to = find(name))) wanted.push_back(*to);
  };
  const auto chats = find("messages") ? find("messages") : find("conversations");
  if (chats) {
    out.form_ = Form::chat;
    out.first_ = *chats;
    wanted = {*chats};
    out.note_ = "chats from " + columns[*chats];
  } else if (pair("prompt", "completion", Form::pair)) {
  } else if (pair("instruction", "output", Form::alpaca)) {
    beside("input", out.input_);
    beside("system", out.system_);
    beside("history", out.history_);
  } else if (const auto at = place_of(columns, text_column)) {
    out.first_ = *at;
    wanted = {*at};
    out.note_ = "texts from " + text_column;
  } else {
    return no_column(columns, text_column, fmt::format("; {}", kForms), files[0]);
  }
  beside("tools", out.tools_);
  beside("chat_template_kwargs", out.kwargs_);
  out.rows_->read_only(wanted);
  HONE_TRY(out.rows_->seek(start));
  return out;
}

Result<OrderedJson> InstructionReader::json(size_t column, const char* needed) {
  const Cell& cell = row_.cells[column];
  std::string text;
  if (const auto* raw = std::get_if<RawJson>(&cell)) text = raw->text;
  if (const auto* written = std::get_if<std::string>(&cell)) text = *written;
  OrderedJson value;
  JsonRules rules;
  rules.max_depth = 64;
  if (text.empty() || parse_json(text, rules, value))
    return wrong(column, fmt::format("column '{}' holds {}, not {}", rows_->columns()[column],
                                     cell_type_name(cell), needed));
  return value;
}

Result<OrderedJson> InstructionReader::messages(size_t column) {
  const OrderedJson given = HONE_TRY(json(column, "a list of messages"));
  if (!given.is_array()) return wrong(column, "the messages are not a list");
  OrderedJson out = OrderedJson::array();
  for (const OrderedJson& one : given) {
    if (!one.is_object()) return wrong(column, "a message is not an object");
    OrderedJson m = OrderedJson::object();
    for (const auto& [key, part] : one.items())
      if (key != "from" && key != "value") m[key] = part;
    if (!m.contains("role") && one.contains("from")) m["role"] = role_of(text_at(one, "from"));
    if (!m.contains("content") && one.contains("value")) m["content"] = one["value"];
    if (!m.contains("role") || !m["role"].is_string() || m["role"].get<std::string>().empty())
      return wrong(column, fmt::format("message {} has no role", out.size() + 1));
    if (!m.contains("content")) m["content"] = nullptr;
    if (!m["content"].is_string() && !m["content"].is_array() && !m["content"].is_null())
      return wrong(column, fmt::format("the content of message {} is not a text", out.size() + 1));
    out.push_back(std::move(m));
  }
  return out;
}

Result<std::string> InstructionReader::text(size_t column) {
  return std::string(HONE_TRY(cell_text(row_, column, rows_->columns()[column])));
}

Result<OrderedJson> InstructionReader::value(size_t column) {
  if (std::holds_alternative<RawJson>(row_.cells[column])) return messages(column);
  return OrderedJson(HONE_TRY(text(column)));
}

Status InstructionReader::read_alpaca(InstructionRow& row) {
  const auto optional_text = [&](std::optional<size_t> column) -> Result<std::string> {
    if (!column) return std::string();
    return text(*column);
  };
  row.prompt = OrderedJson::array();
  if (std::string system = HONE_TRY(optional_text(system_)); !system.empty())
    row.prompt.push_back(message("system", std::move(system)));
  if (history_ && !is_null(row_.cells[*history_])) {
    const OrderedJson turns = HONE_TRY(json(*history_, "a list of pairs of texts"));
    for (const OrderedJson& turn : turns) {
      if (!turn.is_array() || turn.size() != 2 || !turn[0].is_string() || !turn[1].is_string())
        return wrong(*history_, "the history is not a list of pairs of texts");
      row.prompt.push_back(message("user", turn[0]));
      row.prompt.push_back(message("assistant", turn[1]));
    }
  }
  const std::string input = HONE_TRY(optional_text(input_));
  const std::string instruction = HONE_TRY(text(first_));
  row.prompt.push_back(message("user", input.empty() ? instruction : instruction + "\n" + input));
  row.plain_answer = HONE_TRY(text(second_));
  row.answer = OrderedJson::array({message("assistant", row.plain_answer)});
  row.plain_prompt = fmt::format(
      "Below is an instruction that describes a task{}. Write a response that appropriately "
      "completes "
      "the request.\n\n### Instruction:\n{}\n\n{}### Response:\n",
      input.empty() ? "" : ", paired with an input that provides further context", instruction,
      input.empty() ? "" : fmt::format("### Input:\n{}\n\n", input));
  return Ok{};
}

Result<bool> InstructionReader::next(InstructionRow& row) {
  if (!HONE_TRY(rows_->next(row_))) return false;
  row_.cells.resize(std::max(row_.cells.size(), rows_->columns().size()));
  row = {};
  if (form_ == Form::chat) row.answer = HONE_TRY(messages(first_));
  if (form_ == Form::text) row.answer = HONE_TRY(text(first_));
  if (form_ == Form::alpaca) HONE_TRY(read_alpaca(row));
  if (form_ == Form::pair) {
    row.prompt = HONE_TRY(value(first_));
    row.answer = HONE_TRY(value(second_));
    if (row.prompt.is_array() != row.answer.is_array())
      return wrong(second_, "of prompt and completion one is messages, the other a text");
  }
  const auto is_empty = [](const OrderedJson& v) {
    return v.is_string() ? v.get_ref<const std::string&>().empty() : v.empty();
  };
  const size_t answer = form_ == Form::pair || form_ == Form::alpaca ? second_ : first_;
  if (is_empty(row.answer) || (form_ == Form::alpaca && row.plain_answer.empty()))
    return Error(err::kEmptyField, "the row has nothing to answer with")
        .at(place(answer))
        .todo("write the answer, or take the row out");
  if (row.is_chat()) {
    if (tools_ && !is_null(row_.cells[*tools_]))
      row.tools = HONE_TRY(json(*tools_, "a list of tools"));
    if (kwargs_ && !is_null(row_.cells[*kwargs_])) {
      row.kwargs = HONE_TRY(json(*kwargs_, "an object"));
      if (!row.kwargs.is_object()) return wrong(*kwargs_, "chat_template_kwargs is not an object");
    }
  }
  return true;
}

}  // namespace hone

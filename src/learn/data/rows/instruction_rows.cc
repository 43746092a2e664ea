#include "learn/data/rows/instruction_rows.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/data/rows/columns.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/files.h"

namespace hone {
namespace {

constexpr const char* kForms =
    "rows have messages, or prompt and completion, or instruction and output, or a text in the "
    "column "
    "that `dataset_text_field` names";

constexpr const char* kAdvice =
    R"(write {"messages": [{"role": "user", "content": "..."}, {"role": "assistant", )"
    R"("content": "..."}]}, or {"prompt": "...", "completion": "..."})";

OrderedJson message(const char* role, std::string content) {
  return {{"role", role}, {"content", std::move(content)}};
}

}  // namespace

Result<InstructionReader> InstructionReader::open(const std::vector<std::string>& files,
                                                  const RowOptions& options,
                                                  const std::string& text_column) {
  InstructionReader out;
  out.rows_ = HONE_TRY(open_rows(files, options));
  out.cells_.emplace(*out.rows_, kAdvice);
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

std::vector<std::string> InstructionReader::text_columns() const {
  if (form_ == Form::chat) return {};
  const std::vector<std::string>& names = rows_->columns();
  if (form_ == Form::text) return {names[first_]};
  return {names[first_], names[second_]};
}

Status InstructionReader::read_alpaca(InstructionRow& row) {
  const auto optional_text = [&](std::optional<size_t> column) -> Result<std::string> {
    if (!column) return std::string();
    return cells_->text(row_, *column);
  };
  row.prompt = OrderedJson::array();
  if (std::string system = HONE_TRY(optional_text(system_)); !system.empty())
    row.prompt.push_back(message("system", std::move(system)));
  if (history_ && !is_null_cell(row_.cells[*history_])) {
    const OrderedJson turns = HONE_TRY(cells_->json(row_, *history_, "a list of pairs of texts"));
    for (const OrderedJson& turn : turns) {
      if (!turn.is_array() || turn.size() != 2 || !turn[0].is_string() || !turn[1].is_string())
        return cells_->wrong(row_, *history_, "the history is not a list of pairs of texts");
      row.prompt.push_back(message("user", turn[0]));
      row.prompt.push_back(message("assistant", turn[1]));
    }
  }
  const std::string input = HONE_TRY(optional_text(input_));
  const std::string instruction = HONE_TRY(cells_->text(row_, first_));
  row.prompt.push_back(message("user", input.empty() ? instruction : instruction + "\n" + input));
  row.plain_answer = HONE_TRY(cells_->text(row_, second_));
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
  if (form_ == Form::chat) row.answer = HONE_TRY(cells_->messages(row_, first_));
  if (form_ == Form::text) row.answer = HONE_TRY(cells_->text(row_, first_));
  if (form_ == Form::alpaca) HONE_TRY(read_alpaca(row));
  if (form_ == Form::pair) {
    row.prompt = HONE_TRY(cells_->value(row_, first_));
    row.answer = HONE_TRY(cells_->value(row_, second_));
    if (row.prompt.is_array() != row.answer.is_array())
      return cells_->wrong(row_, second_,
                           "of prompt and completion one is messages, the other a text");
  }
  const auto is_empty = [](const OrderedJson& v) {
    return v.is_string() ? v.get_ref<const std::string&>().empty() : v.empty();
  };
  const size_t answer = form_ == Form::pair || form_ == Form::alpaca ? second_ : first_;
  if (is_empty(row.answer) || (form_ == Form::alpaca && row.plain_answer.empty()))
    return Error(err::kEmptyField, "the row has nothing to answer with")
        .at(cells_->place(row_, answer))
        .todo("write the answer, or take the row out");
  if (row.is_chat()) {
    if (tools_ && !is_null_cell(row_.cells[*tools_]))
      row.tools = HONE_TRY(cells_->json(row_, *tools_, "a list of tools"));
    if (kwargs_ && !is_null_cell(row_.cells[*kwargs_])) {
      row.kwargs = HONE_TRY(cells_->json(row_, *kwargs_, "an object"));
      if (!row.kwargs.is_object())
        return cells_->wrong(row_, *kwargs_, "chat_template_kwargs is not an object");
    }
  }
  return true;
}

}  // namespace hone

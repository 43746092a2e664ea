#include "learn/tasks/qa_questions.h"

#include "base/core/text.h"
#include "base/unicode/unicode.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/columns.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/files.h"

namespace hone {
namespace {

constexpr const char* kQaAdvice =
    R"(write {"id": "1", "question": "...", "context": "...", "answers": {"text": ["..."], )"
    R"("answer_start": [0]}}, or SQuAD's own form)";

Error wrong_qa(const std::string& where, const std::string& what) {
  return Error(err::kCellType, what).at(where).todo(kQaAdvice);
}

// The byte of a character of the text, counted as Python does; none: the text is shorter.
std::optional<size_t> byte_of(const std::string& text, int64_t character) {
  size_t at = 0;
  const char* end = text.data() + text.size();
  for (; character > 0 && at < text.size(); --character)
    at += static_cast<size_t>(decode_char(text.data() + at, end).length);
  return character == 0 ? std::optional(at) : std::nullopt;
}

// Answers as lists of texts and places, or SQuAD's list of objects with both.
Status take_answers(const Json& answers, QaQuestion& to) {
  Json texts = Json::array(), starts = Json::array();
  if (answers.is_array()) {
    for (const Json& one : answers) {
      texts.push_back(one.is_object() && one.contains("text") ? one["text"] : Json());
      starts.push_back(one.is_object() && one.contains("answer_start") ? one["answer_start"]
                                                                       : Json());
    }
  } else if (answers.is_object() && answers.contains("text")) {
    texts = answers["text"];
    if (answers.contains("answer_start")) starts = answers["answer_start"];
  }
  if (!texts.is_array() || !starts.is_array() ||
      (answers.is_object() && !answers.contains("text")) ||
      !(answers.is_array() || answers.is_object() || answers.is_null()))
    return wrong_qa(to.where, "the answers are not lists of texts and places");
  for (const Json& text : texts) {
    if (!text.is_string()) return wrong_qa(to.where, "an answer is not a text");
    to.example.answers.push_back(text.get<std::string>());
  }
  if (starts.empty() || to.example.answers.empty()) return Ok{};
  if (!starts[0].is_number_integer()) return wrong_qa(to.where, "answer_start is not a number");
  const std::string& answer = to.example.answers[0];
  to.answer_begin = byte_of(to.example.context, starts[0].get<int64_t>());
  if (!to.answer_begin || to.example.context.compare(*to.answer_begin, answer.size(), answer) != 0)
    return Error(err::kEmptyField, fmt::format("the context has no answer '{}' at character {}",
                                               preview(answer, 40), starts[0].get<int64_t>()))
        .at(to.where)
        .todo("answer_start counts the characters before the answer, from 0");
  return Ok{};
}

}  // namespace

Result<QaReader> QaReader::open(const std::vector<std::string>& files, const RowOptions& options,
                                const QaColumns& names) {
  QaReader out;
  out.rows_ = HONE_TRY(open_rows(files, options));
  const RowPosition start = out.rows_->position();
  if (!HONE_TRY(out.rows_->next(out.row_)))
    return Error(err::kNoRows, "the data has no rows").at(files[0]).todo("give more data");
  const std::vector<std::string>& columns = out.rows_->columns();
  out.paragraphs_ = place_of(columns, "paragraphs");
  if (!out.paragraphs_)
    for (const auto& [name, to] :
         {std::pair(names.question, &out.question_), {names.context, &out.context_}})
      if (!(*to = place_of(columns, name)))
        return no_column(columns, name, ", which holds texts", files[0]);
  out.id_ = place_of(columns, "id");
  out.answers_ = place_of(columns, names.answers);
  HONE_TRY(out.rows_->seek(start));
  return out;
}

Result<bool> QaReader::next(std::vector<QaQuestion>& out) {
  if (!HONE_TRY(rows_->next(row_))) return false;
  row_.cells.resize(std::max(row_.cells.size(), rows_->columns().size()));
  return paragraphs_ ? next_article(out) : next_row(out);
}
Result<Json> QaReader::json_of(size_t column, const char* what) const {
  const Cell& cell = row_.cells[column];
  if (std::holds_alternative<std::monostate>(cell)) return Json();
  std::string text;
  if (const auto* raw = std::get_if<RawJson>(&cell)) text = raw->text;
  if (const auto* written = std::get_if<std::string>(&cell)) text = *written;
  Json value;
  if (text.empty() || parse_json(text, {.max_depth = 64}, value))
    return wrong_qa(row_.where(),
                    fmt::format("the column '{}' holds {}, not {}", rows_->columns()[column],
                                cell_type_name(cell), what));
  return value;
}

Result<bool> QaReader::next_row(std::vector<QaQuestion>& out) {
  QaQuestion q;
  q.where = row_.where();
  const auto text = [&](size_t column) -> Result<std::string> {
    return std::string(HONE_TRY(cell_text(row_, column, rows_->columns()[column])));
  };
  q.question = HONE_TRY(text(*question_));
  q.example.context = HONE_TRY(text(*context_));
  q.example.id = std::to_string(count_);
  if (id_) {
    if (const auto* number = std::get_if<int64_t>(&row_.cells[*id_]))
      q.example.id = std::to_string(*number);
    else
      q.example.id = HONE_TRY(text(*id_));
  }
  if (answers_) HONE_TRY(take_answers(HONE_TRY(json_of(*answers_, "answers")), q));
  ++count_;
  out.push_back(std::move(q));
  return true;
}

Result<bool> QaReader::next_article(std::vector<QaQuestion>& out) {
  const Json paragraphs = HONE_TRY(json_of(*paragraphs_, "a list of paragraphs"));
  if (!paragraphs.is_array()) return wrong_qa(row_.where(), "the paragraphs are not a list");
  for (const Json& paragraph : paragraphs) {
    const bool whole = paragraph.is_object() && paragraph.contains("context") &&
                       paragraph["context"].is_string() && paragraph.contains("qas") &&
                       paragraph["qas"].is_array();
    if (!whole) return wrong_qa(row_.where(), "a paragraph has no context or questions");
    for (const Json& qa : paragraph["qas"]) {
      QaQuestion q;
      q.where = row_.where();
      if (!qa.is_object() || !qa.contains("question") || !qa["question"].is_string())
        return wrong_qa(q.where, "a question is not a text");
      q.question = qa["question"].get<std::string>();
      q.example.context = paragraph["context"].get<std::string>();
      q.example.id = qa.contains("id") && qa["id"].is_string() ? qa["id"].get<std::string>()
                                                               : std::to_string(count_);
      if (qa.contains("answers")) HONE_TRY(take_answers(qa["answers"], q));
      ++count_;
      out.push_back(std::move(q));
    }
  }
  return true;
}

}  // namespace hone

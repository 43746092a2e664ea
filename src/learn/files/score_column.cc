#include "learn/files/score_column.h"

#include <algorithm>

#include "base/core/json.h"
#include "learn/data/rows/files.h"

namespace hone {

Result<ScoreColumn> ScoreColumn::open(const std::string& file, const std::string& wanted,
                                      std::span<const char* const> preferred) {
  ScoreColumn c;
  RowOptions options;
  options.keep_linebreaks = false;
  c.file_ = file;
  c.name_ = wanted;
  c.rows_ = HONE_TRY(open_rows({file}, options));
  for (const char* name : preferred)
    if (c.name_.empty() && std::ranges::count(c.columns(), name) > 0) c.name_ = name;
  c.column_ = HONE_TRY(text_column(*c.rows_, c.name_));
  return c;
}

std::string ScoreColumn::about() const {
  const std::string& name = columns()[column_];
  const bool by_name = !name_.empty() || name == "text";
  return fmt::format("column '{}' of {}{}", name, file_, by_name ? "" : " (the first)");
}

Result<bool> ScoreColumn::next(std::vector<std::string>& texts) {
  if (!HONE_TRY(rows_->next(row_))) return false;
  if (first_ && is_text("index\tprediction")) {
    has_index_ = true;
    if (!HONE_TRY(rows_->next(row_))) return false;
  }
  first_ = false;
  const Cell& cell = row_.cells[column_];
  if (const auto* list = std::get_if<std::vector<std::string>>(&cell))
    texts.insert(texts.end(), list->begin(), list->end());
  else if (const auto* whole = std::get_if<int64_t>(&cell))
    texts.push_back(std::to_string(*whole));
  else if (const auto* number = std::get_if<double>(&cell))
    texts.push_back(double_text(*number));
  else if (const auto* yes = std::get_if<bool>(&cell))
    texts.push_back(*yes ? "1" : "0");
  else
    texts.emplace_back(HONE_TRY(cell_text(row_, column_, name_.empty() ? "text" : name_)));
  if (has_index_) texts.back().erase(0, texts.back().find('\t') + 1);
  return true;
}

bool ScoreColumn::is_text(std::string_view wanted) const {
  const auto* text = std::get_if<std::string>(&row_.cells[column_]);
  return text != nullptr && *text == wanted;
}

}  // namespace hone

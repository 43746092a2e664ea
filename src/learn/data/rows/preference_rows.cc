#include "learn/data/rows/preference_rows.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/columns.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/files.h"

namespace hone {
namespace {

constexpr const char* kPreferenceAdvice =
    R"(write {"prompt": "...", "chosen": "...", "rejected": "..."}, or lists of messages such as )"
    R"([{"role": "user", "content": "..."}])";
// Rows of pairs that become labels together: the chosen answers of all come first, as in TRL, which
// takes the rows of a batch of Dataset.map.
constexpr size_t kUnpairedTogether = 1000;

// The bytes of the first characters that two texts share; all but the last of the shorter one if none
// differs.
size_t common_bytes(const std::string& a, const std::string& b) {
  const auto begins_character = [](const std::string& text, size_t at) {
    return at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
  };
  size_t n =
      static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const bool whole = n == std::min(a.size(), b.size());
  if (whole && n > 0) --n;
  while (n > 0 && !(begins_character(a, n) && begins_character(b, n))) --n;
  if (!whole && n > 0 && a[n - 1] == ' ') --n;
  return n;
}

}  // namespace

void extract_prompt(PreferenceRow& row) {
  if (row.chosen.is_string()) {
    const std::string chosen = row.chosen, rejected = row.rejected;
    const size_t n = common_bytes(chosen, rejected);
    row.prompt = chosen.substr(0, n);
    row.chosen = chosen.substr(n);
    row.rejected = rejected.substr(n);
    return;
  }
  const size_t most = std::min(row.chosen.size(), row.rejected.size());
  size_t n = 0;
  while (n < most && row.chosen[n] == row.rejected[n]) ++n;
  if (n == most && n > 0) --n;
  const auto part = [](const OrderedJson& list, size_t from, size_t to) {
    OrderedJson some = OrderedJson::array();
    for (size_t i = from; i < to; ++i) some.push_back(list[i]);
    return some;
  };
  row.prompt = part(row.chosen, 0, n);
  row.chosen = part(row.chosen, n, row.chosen.size());
  row.rejected = part(row.rejected, n, row.rejected.size());
}

Result<PreferenceReader> PreferenceReader::open(const std::vector<std::string>& files,
                                                const Wanted& wanted) {
  PreferenceReader out;
  out.wanted_ = wanted;
  out.rows_ = HONE_TRY(open_rows(files, wanted.rows));
  out.cells_.emplace(*out.rows_, kPreferenceAdvice);
  const RowPosition start = out.rows_->position();
  if (!HONE_TRY(out.rows_->next(out.row_)))
    return Error(err::kNoRows, "the data has no rows").at(files[0]).todo("give more data");
  const std::vector<std::string>& columns = out.rows_->columns();
  std::vector<size_t> used;
  std::vector<std::string> names;
  const auto find = [&](const char* name, std::optional<size_t>& to) {
    if (!(to = place_of(columns, name))) return;
    used.push_back(*to);
    names.emplace_back(name);
  };
  find("prompt", out.prompt_);
  find("chosen", out.chosen_);
  find("rejected", out.rejected_);
  const bool pairs = out.chosen_ && out.rejected_;
  if (wanted.labels && !pairs) {
    find("completion", out.chosen_);
    find("label", out.label_);
  }
  if (!wanted.labels) find("margin", out.margin_);
  if (!pairs && !(wanted.labels && out.prompt_ && out.chosen_ && out.label_)) {
    const bool half = out.chosen_ && !wanted.labels;
    return no_column(columns,
                     half            ? "rejected"
                     : wanted.labels ? "completion"
                                     : "chosen",
                     wanted.labels
                         ? "; rows have prompt, completion and label, or chosen and rejected"
                         : "; rows have chosen and rejected, and perhaps a prompt",
                     files[0]);
  }
  out.note_ = join(names, ", ");
  find("tools", out.tools_);
  find("chat_template_kwargs", out.kwargs_);
  out.rows_->read_only(used);
  HONE_TRY(out.rows_->seek(start));
  return out;
}

Status PreferenceReader::read_label(PreferenceRow& row) const {
  const Cell& cell = row_.cells[*label_];
  if (const auto* flag = std::get_if<bool>(&cell)) {
    row.wanted = *flag;
    return Ok{};
  }
  if (const auto* number = std::get_if<int64_t>(&cell); number && (*number == 0 || *number == 1)) {
    row.wanted = *number == 1;
    return Ok{};
  }
  if (const auto* text = std::get_if<std::string>(&cell)) {
    const std::string word = to_lower(*text);
    if (word == "true" || word == "1" || word == "false" || word == "0") {
      row.wanted = word == "true" || word == "1";
      return Ok{};
    }
  }
  return cells_->wrong(row_, *label_,
                       fmt::format("the label is {}, not true or false", cell_type_name(cell)));
}

// One row of the file.
Result<bool> PreferenceReader::read(PreferenceRow& row) {
  if (!HONE_TRY(rows_->next(row_))) return false;
  row_.cells.resize(std::max(row_.cells.size(), rows_->columns().size()));
  row = {};
  row.file = row_.file, row.line = row_.line, row.line_is_row = row_.line_is_row;
  row.where = row_.where();
  const auto answer = [&](size_t column) -> Result<OrderedJson> {
    if (is_null_cell(row_.cells[column]))
      return cells_->wrong(row_, column, "the row has no answer here");
    return cells_->value(row_, column);
  };
  row.chosen = HONE_TRY(answer(*chosen_));
  if (rejected_) row.rejected = HONE_TRY(answer(*rejected_));
  if (prompt_) row.prompt = HONE_TRY(answer(*prompt_));
  const bool chat = row.chosen.is_array();
  if (rejected_ && row.rejected.is_array() != chat)
    return cells_->wrong(row_, *rejected_,
                         "of chosen and rejected one is messages, the other a text");
  if (prompt_ && row.prompt.is_array() != chat)
    return cells_->wrong(row_, *prompt_, "of prompt and answer one is messages, the other a text");
  if (label_) HONE_TRY(read_label(row));
  if (margin_) {
    const Cell& cell = row_.cells[*margin_];
    if (const auto* real = std::get_if<double>(&cell))
      row.margin = *real;
    else if (const auto* whole = std::get_if<int64_t>(&cell))
      row.margin = static_cast<double>(*whole);
    else
      return cells_->wrong(row_, *margin_,
                           fmt::format("the margin is {}, not a number", cell_type_name(cell)));
  }
  if (chat && tools_ && !is_null_cell(row_.cells[*tools_]))
    row.tools = HONE_TRY(cells_->json(row_, *tools_, "a list of tools"));
  if (chat && kwargs_ && !is_null_cell(row_.cells[*kwargs_])) {
    row.kwargs = HONE_TRY(cells_->json(row_, *kwargs_, "an object"));
    if (!row.kwargs.is_object())
      return cells_->wrong(row_, *kwargs_, "chat_template_kwargs is not an object");
  }
  if (rejected_ && !prompt_ && wanted_.extract_prompt) extract_prompt(row);
  return true;
}

// Labels of the pairs of the file.
Result<bool> PreferenceReader::next_of_pairs(PreferenceRow& row) {
  if (unpaired_.empty()) {
    std::deque<PreferenceRow> others;
    for (PreferenceRow pair; others.size() < kUnpairedTogether && HONE_TRY(read(pair));) {
      PreferenceRow& other = others.emplace_back(pair);
      other.chosen = std::move(other.rejected);
      other.rejected = nullptr;
      other.wanted = false;
      pair.rejected = nullptr;
      unpaired_.push_back(std::move(pair));
    }
    for (PreferenceRow& other : others) unpaired_.push_back(std::move(other));
  }
  if (unpaired_.empty()) return false;
  row = std::move(unpaired_.front());
  unpaired_.pop_front();
  return true;
}

Result<bool> PreferenceReader::next(PreferenceRow& row) {
  return wanted_.labels && rejected_ ? next_of_pairs(row) : read(row);
}

}  // namespace hone

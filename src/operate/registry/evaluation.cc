#include "operate/registry/evaluation.h"

#include <algorithm>
#include <unordered_set>

#include "base/core/text.h"
#include "base/store/hash.h"
#include "base/store/store.h"
#include "operate/registry/errors.h"

namespace hone {
namespace {

Error not_examples(const std::string& what, const std::string& where) {
  return Error(err::kExamples, what)
      .at(where)
      .todo("write the rows again: hone eval ... --save_examples --output_dir FOLDER");
}

// The text of a member, a number as it is written.
std::string word_at(const OrderedJson& row, const char* key) {
  const auto it = row.find(key);
  if (it == row.end() || it->is_null()) return "";
  return it->is_string() ? it->get<std::string>() : dump_json(*it);
}

// The id of a line that begins with it, as hone writes lines; "": another form.
std::string_view id_at_start(std::string_view line) {
  constexpr std::string_view kBegin = "{\"id\": \"";
  if (!line.starts_with(kBegin)) return "";
  line.remove_prefix(kBegin.size());
  const size_t end = line.find('"');
  if (end == std::string_view::npos || line.substr(0, end).find('\\') != line.npos) return "";
  return line.substr(0, end);
}

OrderedJson member_object(const OrderedJson& row, const char* key) {
  const auto it = row.find(key);
  return it != row.end() && it->is_object() ? *it : OrderedJson::object();
}

}  // namespace

Result<std::vector<EvaluatedRow>> parse_examples(std::string_view text, const std::string& name) {
  std::vector<EvaluatedRow> rows;
  std::unordered_set<std::string> ids;
  int64_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const std::string where = fmt::format("{}:{}", name, number);
    const Result<OrderedJson> row = parse_ordered_json(line, name);
    if (!row.ok() || !row->is_object())
      return not_examples("a line is not a row of an evaluation", where);
    EvaluatedRow r{text_at(*row, "id"), word_at(*row, "prediction"), word_at(*row, "reference"),
                   member_object(*row, "scores"), member_object(*row, "slices")};
    if (r.id.empty()) return not_examples("a row of an evaluation has no id", where);
    if (!ids.insert(r.id).second)
      return not_examples(fmt::format("two rows have the id '{}'", r.id), where);
    rows.push_back(std::move(r));
  }
  if (rows.empty()) return not_examples("an evaluation has no rows", name);
  return rows;
}

Result<Evaluation> read_evaluation(const std::string& folder) {
  Evaluation e;
  e.folder = without_end_slash(folder);
  const std::string rows = e.folder + "/" + kExamplesFile,
                    run = e.folder + "/" + kEvaluationRunFile;
  if (!HONE_TRY(file_store().exists(rows))) return not_examples("an evaluation has no rows", rows);
  e.rows = HONE_TRY(parse_examples(HONE_TRY(file_store().read(rows)), rows));
  if (HONE_TRY(file_store().exists(run))) {
    Result<OrderedJson> told = parse_ordered_json(HONE_TRY(file_store().read(run)), run);
    if (!told.ok() || !told->is_object())
      return not_examples("the settings of an evaluation cannot be read", run);
    e.run = std::move(*told);
  }
  return e;
}

Result<std::string> hash_of_row_ids(const std::string& folder) {
  const std::string file = without_end_slash(folder) + "/" + kExamplesFile;
  const std::string text = HONE_TRY(file_store().read(file));
  std::vector<std::string> ids;
  for (std::string_view left = text; !left.empty();) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    if (trim(line).empty()) continue;
    std::string id(id_at_start(line));
    if (id.empty())
      if (const auto row = parse_ordered_json(line, file); row.ok()) id = text_at(*row, "id");
    if (id.empty()) return not_examples("a row of an evaluation has no id", file);
    ids.push_back(std::move(id));
  }
  if (ids.empty()) return not_examples("an evaluation has no rows", file);
  std::sort(ids.begin(), ids.end());
  return "sha256:" + sha256_of_text(join(ids, "\n"));
}

}  // namespace hone

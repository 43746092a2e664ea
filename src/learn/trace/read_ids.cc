#include "learn/trace/read_ids.h"

#include <algorithm>

#include "base/core/json.h"
#include "base/core/text.h"
#include "learn/trace/errors.h"

namespace hone {
namespace {

using IdRows = std::vector<std::vector<int32_t>>;

Error bad_ids(const std::string& text, const std::string& what) {
  return Error(err::kBadIds, what)
      .at("--ids " + utf8_prefix(text, 60))
      .todo("write rows as '5 6 7; 8 9', or name a .json or .jsonl file");
}

Status add_json(const std::string& text, const Json& row, IdRows& rows) {
  if (!row.is_array()) return bad_ids(text, "a row of ids is not a list");
  std::vector<int32_t>& ids = rows.emplace_back();
  for (const Json& id : row) {
    if (!id.is_number_integer())
      return bad_ids(text, fmt::format("'{}' is not a token id", id.dump()));
    ids.push_back(id.get<int32_t>());
  }
  return Ok{};
}

Result<IdRows> read_lines(const std::string& file) {
  IdRows rows;
  int64_t number = 0;
  for (const std::string& line : split(HONE_TRY(read_file(file)), '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const Json row = HONE_TRY(parse_json(line, fmt::format("{}:{}", file, number)));
    if (!row.is_object() || !row.contains("ids"))
      return bad_ids(file, fmt::format("line {} has no key \"ids\"", number));
    HONE_TRY(add_json(file, row["ids"], rows));
  }
  return rows;
}

Result<IdRows> read_list(const std::string& file) {
  IdRows rows;
  const Json value = HONE_TRY(read_json_file(file));
  const Json& list = value.is_object() && value.contains("sequences") ? value["sequences"] : value;
  if (!list.is_array()) return bad_ids(file, "the file holds no list of rows");
  for (const Json& row : list) HONE_TRY(add_json(file, row, rows));
  return rows;
}

Result<int32_t> read_id(const std::string& text, const std::string& word) {
  size_t read = 0;
  int32_t id = 0;
  try {
    id = std::stoi(word, &read);
  } catch (const std::exception&) {
    read = 0;
  }
  if (read != word.size()) return bad_ids(text, fmt::format("'{}' is not a token id", word));
  return id;
}

}  // namespace

Result<IdRows> read_ids(const std::string& text) {
  if (text.ends_with(".jsonl")) return read_lines(text);
  if (text.ends_with(".json")) return read_list(text);
  IdRows rows;
  for (const std::string& row : split(text, ';')) {
    std::vector<int32_t>& ids = rows.emplace_back();
    std::string spaced = row;
    std::replace(spaced.begin(), spaced.end(), ',', ' ');
    for (const std::string& word : split(spaced, ' '))
      if (!trim(word).empty()) ids.push_back(HONE_TRY(read_id(text, word)));
    if (ids.empty()) rows.pop_back();
  }
  return rows;
}

}  // namespace hone

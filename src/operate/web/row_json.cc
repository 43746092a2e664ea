#include "operate/web/row_json.h"

#include "base/core/json_members.h"
#include "base/core/text.h"

namespace hone {
namespace {

constexpr size_t kMostTextBytes = 20000, kMostTokens = 1000;

std::string cut_text(const std::string& text) {
  if (text.size() <= kMostTextBytes) return text;
  return std::string(utf8_prefix(text, kMostTextBytes)) + "…";
}

// `piece`: the token's spelling in the vocabulary.
OrderedJson token_json(const Tokenizer& t, int32_t id) {
  OrderedJson j = {
      {"id", id}, {"piece", t.token_of(id).value_or("")}, {"text", t.decode(std::span(&id, 1))}};
  if (t.is_special(id)) j["special"] = true;
  return j;
}

std::string name_of_label(const Tokenizer& t, int32_t id) {
  return t.token_of(id).value_or(std::to_string(id));
}

OrderedJson side_json(const std::vector<int32_t>& ids, const Tokenizer& t) {
  OrderedJson tokens = OrderedJson::array();
  for (size_t i = 0; i < std::min(ids.size(), kMostTokens); ++i)
    tokens.push_back(token_json(t, ids[i]));
  return tokens;
}

}  // namespace

OrderedJson whole_cell_json(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> OrderedJson {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, RawJson>) {
          Result<OrderedJson> parsed = parse_ordered_json(value.text, "cell");
          return parsed.ok() ? std::move(*parsed) : OrderedJson(value.text);
        } else if constexpr (std::is_same_v<T, FileCell>) {
          return {{"path", value.path}, {"bytes", value.bytes.size()}};
        } else {
          return value;
        }
      },
      cell);
}

OrderedJson shown_cell_json(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return cut_text(*text);
  OrderedJson json = whole_cell_json(cell);
  if (bytes_of_cell(cell) <= static_cast<int64_t>(kMostTextBytes)) return json;
  return cut_text(dump_json(json));
}

int64_t bytes_of_cell(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> int64_t {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return std::ssize(value);
        } else if constexpr (std::is_same_v<T, RawJson>) {
          return std::ssize(value.text);
        } else if constexpr (std::is_same_v<T, FileCell>) {
          return std::ssize(value.path);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          return std::ssize(value) * static_cast<int64_t>(sizeof(int64_t));
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          int64_t bytes = 0;
          for (const std::string& text : value) bytes += std::ssize(text) + 1;
          return bytes;
        } else {
          return sizeof(value);
        }
      },
      cell);
}

OrderedJson named_row_json(const Row& row, const std::vector<std::string>& columns,
                           const LabelNames& names) {
  OrderedJson j = OrderedJson::object();
  OrderedMembers<OrderedJson> by_column(j);
  const auto named = [](const OrderedJson& value, const std::vector<std::string>& classes) {
    const bool known = value.is_number_integer() && value.get<int64_t>() >= 0 &&
                       value.get<size_t>() < classes.size();
    return known ? OrderedJson(classes[value.get<size_t>()]) : value;
  };
  for (size_t i = 0; i < columns.size() && i < row.cells.size(); ++i) {
    OrderedJson value = whole_cell_json(row.cells[i]);
    if (const auto classes = names.find(columns[i]); classes != names.end()) {
      if (value.is_array())
        for (OrderedJson& one : value) one = named(one, classes->second);
      else
        value = named(value, classes->second);
    }
    by_column[columns[i]] = std::move(value);
  }
  return j;
}

OrderedJson seen_row_json(const SampleRow& row, const Tokenizer& tokenizer,
                          const Tokenizer& targets) {
  OrderedJson j = OrderedJson::object();
  const bool pair = !row.source.empty();
  if (pair) {
    j["source"] = side_json(row.source, tokenizer);
    j["source_count"] = row.source.size();
  }
  OrderedJson tokens = side_json(row.ids, pair ? targets : tokenizer);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!row.tags.empty())
      tokens[i]["label"] = row.tags[i].empty() ? OrderedJson() : OrderedJson(row.tags[i]);
    else if (!row.labels.empty())
      tokens[i]["label"] = row.labels[i] == kIgnoreLabel
                               ? OrderedJson()
                               : OrderedJson(name_of_label(targets, row.labels[i]));
  }
  j["tokens"] = std::move(tokens);
  j["count"] = row.ids.size();
  if (row.tags.empty() && !row.label.empty()) j["label"] = row.label;
  return j;
}

OrderedJson id_row_json(const std::vector<int64_t>& ids, const std::vector<int64_t>* labels,
                        bool aligned, const Tokenizer& tokenizer) {
  SampleRow row;
  if (labels != nullptr && !aligned) {
    row.source.assign(ids.begin(), ids.end());
    row.ids.assign(labels->begin(), labels->end());
  } else {
    row.ids.assign(ids.begin(), ids.end());
    if (labels != nullptr) row.labels.assign(labels->begin(), labels->end());
  }
  return seen_row_json(row, tokenizer, tokenizer);
}

}  // namespace hone

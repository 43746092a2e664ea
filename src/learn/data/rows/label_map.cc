#include "learn/data/rows/label_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/core/json.h"
#include "base/core/text.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/parsed.h"

namespace hone {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 12;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i > 0 ? ", " : "") + preview(names[i], 40);
  return names.size() > kShown ? text + fmt::format(", ... ({} in all)", names.size()) : text;
}

std::vector<std::string> sorted_lower(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) out.push_back(to_lower(name));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Result<int32_t> SeenLabels::add(const Row& row, size_t column, const std::string& column_name) {
  static const Cell kNull;
  return add(column < row.cells.size() ? row.cells[column] : kNull, row, column_name);
}

Result<int32_t> SeenLabels::add(const Cell& cell, const Row& row, const std::string& column_name) {
  const auto where = [&] { return fmt::format("{}, column '{}'", row.where(), column_name); };
  Label label;
  if (const auto* text = std::get_if<std::string>(&cell)) {
    label.text = trim(*text);
    label.whole = parsed<int64_t>(label.text);
    label.number = parsed_finite(label.text);
  } else if (const auto* whole = std::get_if<int64_t>(&cell)) {
    label.text = std::to_string(*whole);
    label.whole = *whole;
    label.number = static_cast<double>(*whole);
  } else if (const auto* number = std::get_if<double>(&cell)) {
    if (!std::isfinite(*number))
      return Error(err::kCellType, fmt::format("the label is {}", double_text(*number)))
          .at(where())
          .todo("give the row a label that is a finite number, or leave the row out");
    label.text = fmt::format("{}", *number);
    label.number = *number;
    // 2.0 of a file is a fraction that happens to be whole.
    if (label.text.find_first_of(".en") == std::string::npos) label.text += ".0";
  } else if (const auto* flag = std::get_if<bool>(&cell)) {
    label.text = *flag ? "True" : "False";
  } else if (!std::holds_alternative<std::monostate>(cell)) {
    return Error(err::kCellType, fmt::format("column '{}' holds {} where a label is needed",
                                             column_name, cell_type_name(cell)))
        .at(where())
        .todo("name the column of the labels by `label_column_name`; a row has one label");
  }
  if (label.text.empty())
    return Error(err::kEmptyField, "the label is empty")
        .at(where())
        .todo("give it a label, or - (in a column of numbers -1) to leave the row out");
  const auto known = numbers_.find(label.text);
  if (known != numbers_.end()) {
    ++labels_[static_cast<size_t>(known->second)].rows;
    return known->second;
  }
  const auto number = static_cast<int32_t>(labels_.size());
  numbers_.emplace(label.text, number);
  label.where = where();
  label.rows = 1;
  labels_.push_back(std::move(label));
  return number;
}

LabelMap named_labels(const std::vector<std::string>& names) {
  LabelMap map;
  map.regression = names.empty();
  map.names = names;
  for (size_t i = 0; i < names.size(); ++i) map.ids.emplace(names[i], static_cast<int32_t>(i));
  for (size_t i = 0; i < names.size(); ++i)
    map.ids.emplace(std::to_string(i), static_cast<int32_t>(i));
  return map;
}

Result<LabelMap> sorted_labels(const SeenLabels& seen) {
  std::vector<const SeenLabels::Label*> labels;
  bool all_whole = true, all_numbers = true;
  for (const SeenLabels::Label& label : seen.all()) {
    if (label.text == "-") continue;
    all_whole = all_whole && label.whole.has_value();
    all_numbers = all_numbers && label.number.has_value();
    labels.push_back(&label);
  }
  LabelMap map;
  map.regression = all_numbers && !all_whole && !labels.empty();
  if (map.regression) return map;
  std::erase_if(labels, [](const SeenLabels::Label* label) { return label->is_missing(); });
  std::sort(labels.begin(), labels.end(), [&](const auto* a, const auto* b) {
    return all_whole ? *a->whole < *b->whole : a->text < b->text;
  });
  for (const auto* label : labels) {
    map.ids.emplace(label->text, static_cast<int32_t>(map.names.size()));
    map.names.push_back(label->text);
  }
  if (map.names.size() < 2)
    return Error(err::kLabel, map.names.empty()
                                  ? std::string("no row has a label")
                                  : fmt::format("all rows have the label '{}': there is nothing to "
                                                "learn",
                                                preview(map.names[0])))
        .at(labels.empty() ? std::string("the training data") : labels[0]->where)
        .todo("is the right column taken? `label_column_name` names it");
  return map;
}

std::string label_counts(const LabelMap& map, const std::vector<int64_t>& counts, size_t shown) {
  std::string text;
  for (size_t i = 0; i < std::min(counts.size(), shown); ++i)
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", preview(map.names[i], 40), counts[i]);
  if (counts.size() > shown) text += fmt::format(", ... ({} labels)", counts.size());
  return text;
}

Result<LabelMap> remap_labels(const LabelMap& data, const std::vector<std::string>& names,
                              const std::string& checkpoint) {
  if (names.empty() || data.regression) return data;
  LabelMap map;
  map.many = data.many;
  map.names = names;
  if (sorted_lower(data.names) == sorted_lower(names)) {
    std::map<std::string, int32_t> own;
    for (size_t i = 0; i < names.size(); ++i) own[to_lower(names[i])] = static_cast<int32_t>(i);
    for (const auto& [spelling, id] : data.ids)
      map.ids[spelling] = own[to_lower(data.names[static_cast<size_t>(id)])];
    return map;
  }
  const bool numbers = std::all_of(data.names.begin(), data.names.end(), [](const auto& name) {
    return parsed<int64_t>(name).has_value();
  });
  if (numbers && data.names.size() == names.size()) {
    map.ids = data.ids;
    return map;
  }
  return Error(err::kLabelMap, fmt::format("the checkpoint tells apart {}; the data {}",
                                           list_of(names), list_of(data.names)))
      .at(fmt::format("id2label in config.json of {}", checkpoint))
      .todo(
          "use data with the checkpoint's labels, or take those of the data by "
          "`ignore_mismatched_sizes`");
}

Result<std::vector<std::string>> label_names_of_config(const Json& config,
                                                       const std::string& name) {
  std::vector<std::string> names;
  if (!config.contains("id2label") || !config["id2label"].is_object()) return names;
  const Json& table = config["id2label"];
  const auto damaged = [&](const std::string& what) {
    return Error(err::kLabelMap, what)
        .at(fmt::format("id2label of {}", name))
        .todo("its keys are \"0\", \"1\", ... and its values different names");
  };
  names.resize(table.size());
  std::vector<bool> given(table.size());
  bool usual = true;
  for (const auto& [key, value] : table.items()) {
    const auto id = parsed<int64_t>(key);
    if (!id || *id < 0 || *id >= static_cast<int64_t>(table.size()) ||
        given[static_cast<size_t>(*id)])
      return damaged(fmt::format("'{}' is not an id among {} labels", preview(key), table.size()));
    const auto i = static_cast<size_t>(*id);
    given[i] = true;
    names[i] = value.is_string() ? value.get<std::string>() : dump_json(value);
    usual = usual && names[i] == fmt::format("LABEL_{}", i);
  }
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return damaged("two ids have the same label");
  if (usual) names.clear();
  return names;
}

Result<std::vector<int32_t>> class_ids(const SeenLabels& seen, const LabelMap& map) {
  std::vector<int32_t> ids;
  for (const SeenLabels::Label& label : seen.all()) {
    auto found = map.ids.find(label.text);
    if (found == map.ids.end() && label.is_missing()) {
      ids.push_back(-1);
      continue;
    }
    // 2.0 and 02 are the number 2.
    if (found == map.ids.end() && label.number && std::trunc(*label.number) == *label.number &&
        std::abs(*label.number) < 1e9)
      found = map.ids.find(std::to_string(static_cast<int64_t>(*label.number)));
    if (found == map.ids.end()) {
      const std::string near = nearest_name(label.text, map.names);
      return Error(err::kLabel,
                   fmt::format("'{}' is not one of the {} labels {}", preview(label.text),
                               map.names.size(), list_of(map.names)))
          .at(label.where)
          .todo(near.empty() ? "correct the row, or name the right column by `label_column_name`"
                             : fmt::format("did you mean '{}'?", near));
    }
    ids.push_back(found->second);
  }
  return ids;
}

Result<std::vector<float>> label_values(const SeenLabels& seen) {
  std::vector<float> values;
  for (const SeenLabels::Label& label : seen.all()) {
    if (label.text == "-") {
      values.push_back(std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const auto value = static_cast<float>(label.number.value_or(0));
    if (!label.number || !std::isfinite(value))
      return Error(err::kLabel, fmt::format("'{}' is not a number, and the task learns numbers",
                                            preview(label.text)))
          .at(label.where)
          .todo("correct the row, or name the right column by `label_column_name`");
    values.push_back(value);
  }
  return values;
}

}  // namespace hone

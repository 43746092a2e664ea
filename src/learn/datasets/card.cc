#include "learn/datasets/card.h"

#include <algorithm>
#include <charconv>

#include "base/core/text.h"
#include "base/settings/yaml.h"
#include "learn/datasets/errors.h"

namespace hone {
namespace {

Error malformed(const std::string& where, const std::string& what) {
  return Error(err::kDatasetCard, where.empty() ? what : fmt::format("{}: {}", where, what))
      .todo(
          "correct the header, or go without it: `train_file` and `validation_file` take the files "
          "themselves, also as hf://datasets/org/name/path");
}

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

// A glob or a list of them.
Result<std::vector<std::string>> globs_of(const Json& value, const std::string& where) {
  if (value.is_string()) return std::vector<std::string>{value.get<std::string>()};
  std::vector<std::string> globs;
  for (const Json& item : value) {
    if (!value.is_array() || !item.is_string())
      return malformed(where, "a path is a text or a list of texts");
    globs.push_back(item);
  }
  if (globs.empty()) return malformed(where, "there is an empty list of paths");
  return globs;
}

Result<SplitPatterns> patterns_of(const Json& data_files, const std::string& where) {
  const bool by_split = data_files.is_array() && !data_files.empty() && data_files[0].is_object();
  if (!by_split) {
    if (data_files.is_object())
      return malformed(where, "data_files is a list of '- split: ...' with 'path: ...', not a map");
    auto globs = HONE_TRY(globs_of(data_files, where));
    return SplitPatterns{{"train", std::move(globs)}};
  }
  SplitPatterns patterns;
  for (const Json& entry : data_files) {
    const std::string split = text_at(entry, "split");
    const Json* path = member(entry, "path");
    if (split.empty() || !path || entry.size() != 2)
      return malformed(where, "each entry of data_files is 'split: ...' and 'path: ...'");
    for (const auto& [other, globs] : patterns) {
      if (other == split) return malformed(where, fmt::format("split '{}' appears twice", split));
    }
    auto globs = HONE_TRY(globs_of(*path, where));
    patterns.push_back({split, std::move(globs)});
  }
  return patterns;
}

// {"0": "negative", "1": "positive"} or a list.
std::vector<std::string> class_names(const Json& names) {
  std::vector<std::string> out;
  if (names.is_array()) {
    for (const Json& n : names) out.push_back(n.is_string() ? n.get<std::string>() : "");
    return out;
  }
  if (!names.is_object()) return out;
  for (const auto& [key, name] : names.items()) {
    size_t id = 0;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
    if (parsed.ec != std::errc() || id >= names.size() || !name.is_string()) return {};
    out.resize(std::max(out.size(), id + 1));
    out[id] = name.get<std::string>();
  }
  return out;
}

// "dtype", or of a column of lists what its elements are: "sequence", or "list" as it is called since
// datasets 4.
LabelNames labels_of(const Json* features) {
  LabelNames labels;
  if (!features || !features->is_array()) return labels;
  for (const Json& feature : *features) {
    const Json* type = nullptr;
    for (const char* key : {"dtype", "sequence", "list"})
      if (!type) type = member(feature, key);
    const Json* label = type ? member(*type, "class_label") : nullptr;
    const Json* names = label ? member(*label, "names") : nullptr;
    if (!names) continue;
    if (std::vector<std::string> list = class_names(*names); !list.empty())
      labels[text_at(feature, "name")] = std::move(list);
  }
  return labels;
}

// The text between the first line "---" and the next one, or nothing.
std::optional<std::string> header_of(std::string_view readme) {
  std::string header;
  bool inside = false;
  while (!readme.empty()) {
    const size_t end = std::min(readme.find('\n'), readme.size());
    std::string_view line = readme.substr(0, end);
    readme.remove_prefix(std::min(end + 1, readme.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (inside && line == "---") return header;
    if (!inside && line != "---") return std::nullopt;
    if (inside) header += line;
    header += '\n';  // also for the first line, so that places are those of the file
    inside = true;
  }
  return std::nullopt;
}

}  // namespace

Result<DatasetCard> parse_card(std::string_view readme, const std::string& name) {
  DatasetCard card;
  if (readme.starts_with("\xef\xbb\xbf")) readme.remove_prefix(3);
  const std::optional<std::string> header = header_of(readme);
  if (!header) return card;
  Result<Json> parsed = parse_yaml(*header, name);
  if (!parsed.ok()) return malformed("", parsed.error().what());
  if (const Json* infos = member(*parsed, "dataset_info")) {
    const Json list = infos->is_array() ? *infos : Json::array({*infos});
    for (const Json& info : list) {
      const std::string config = text_at(info, "config_name");
      LabelNames labels = labels_of(member(info, "features"));
      if (!labels.empty()) card.labels[config.empty() ? "default" : config] = std::move(labels);
    }
  }
  const Json* configs = member(*parsed, "configs");
  if (!configs) return card;
  if (!configs->is_array()) return malformed(name, "'configs' is not a list");
  for (const Json& entry : *configs) {
    DatasetConfig config;
    config.name = text_at(entry, "config_name");
    if (config.name.empty()) return malformed(name, "an entry of 'configs' has no config_name");
    const std::string where = fmt::format("{}, configuration '{}'", name, config.name);
    config.data_dir = text_at(entry, "data_dir");
    config.is_default = to_lower(text_at(entry, "default")) == "true";
    if (const Json* files = member(entry, "data_files"))
      config.data_files = HONE_TRY(patterns_of(*files, where));
    config.labels = labels_of(member(entry, "features"));
    if (config.labels.empty() && card.labels.contains(config.name))
      config.labels = card.labels[config.name];
    for (const auto& [key, value] : entry.items()) {
      static const char* const kKnown[] = {"config_name", "data_dir", "default",     "data_files",
                                           "features",    "version",  "description", "drop_labels"};
      if (std::find(std::begin(kKnown), std::end(kKnown), key) == std::end(kKnown))
        config.not_used.push_back(key);
    }
    card.configs.push_back(std::move(config));
  }
  return card;
}

Error no_such_config(const std::string& dataset, const std::string& wanted,
                     const std::vector<std::string>& have) {
  const std::string names = join(have, ", ");
  if (wanted.empty()) {
    return Error(err::kDatasetConfig,
                 fmt::format("'{}' has {} configurations and none was named", dataset, have.size()))
        .todo(fmt::format("choose one by `dataset_config_name`: {}", names));
  }
  const std::string near = nearest_name(wanted, have);
  return Error(err::kDatasetConfig, fmt::format("'{}' has no configuration '{}'", dataset, wanted))
      .at(fmt::format("`dataset_config_name` {}", wanted))
      .todo(have.empty() ? "leave `dataset_config_name` out: there is only one"
                         : fmt::format("{}there {}: {}",
                                       near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                                       have.size() == 1 ? "is" : "are", names));
}

Result<const DatasetConfig*> choose_config(const DatasetCard& card, const std::string& wanted,
                                           const std::string& dataset) {
  std::vector<std::string> names;
  const DatasetConfig* chosen = nullptr;
  for (const DatasetConfig& c : card.configs) {
    if (c.name == wanted) return &c;
    names.push_back(c.name);
    if (card.configs.size() > 1 && c.name != "default" && !c.is_default) continue;
    if (chosen) {
      return malformed(
          fmt::format("README.md of '{}'", dataset),
          fmt::format("both '{}' and '{}' are the default configuration", chosen->name, c.name));
    }
    chosen = &c;
  }
  const bool none = wanted.empty() || wanted == "default";
  if (card.configs.empty()) {
    // Cards of before there were `configs:` name the only configuration in dataset_info.
    if (none || (card.labels.size() == 1 && card.labels.contains(wanted))) return nullptr;
    return no_such_config(dataset, wanted, {});
  }
  if (none && chosen) return chosen;
  return no_such_config(dataset, none ? "" : wanted, names);
}

}  // namespace hone

// Settings files: YAML and JSON.
#include "base/core/text.h"
#include "base/settings/errors.h"
#include "base/settings/settings.h"
#include "base/settings/yaml_node.h"

namespace hone {
namespace {

struct Entry {
  std::string key;
  Json value;
  TextPlace place;
};

Result<std::vector<Entry>> read_yaml(std::string_view text, const std::string& name) {
  YAML::Node document = HONE_TRY(load_yaml(text, name));
  try {
    if (trim(text).empty())
      return Error(err::kConfigSyntax, fmt::format("{}: the file is empty", name));
    if (document.IsNull()) return std::vector<Entry>{};  // comments alone
    if (!document.IsMap()) {
      return Error(err::kConfigSyntax,
                   fmt::format("{}: a settings file is a list of lines 'name: value'", name))
          .at(place_text(name, place_of(document.Mark())));
    }
    std::vector<Entry> entries;
    int budget = kMostYamlNodes;
    for (const auto& entry : document) {
      TextPlace place = place_of(entry.first.Mark());
      if (!entry.first.IsScalar()) {
        return Error(err::kConfigSyntax,
                     fmt::format("{}: a key must be plain text", place_text(name, place)));
      }
      Json value = HONE_TRY(json_of(entry.second, YamlScalars::kTextOutsideMaps, name, budget));
      entries.push_back({entry.first.Scalar(), std::move(value), place});
    }
    return entries;
  } catch (const YAML::Exception& e) {
    return Error(err::kConfigSyntax,
                 fmt::format("{}: {}", place_text(name, place_of(e.mark)), e.msg));
  } catch (const std::exception& e) {
    return Error(err::kConfigSyntax, fmt::format("{}: {}", name, e.what()));
  }
}

Result<std::vector<Entry>> read_json(std::string_view text, const std::string& name) {
  JsonPlaces places;
  Json json = HONE_TRY(parse_json(text, name, &places));
  if (!json.is_object()) {
    return Error(err::kConfigSyntax, fmt::format("{}: a settings file is an object {{...}}", name));
  }
  std::vector<Entry> entries;
  for (auto& [key, value] : json.items()) {
    const auto [begin, end] = places.equal_range("/" + key);
    for (auto at = begin; at != end; ++at) entries.push_back({key, value, at->second});
  }
  return entries;
}

}  // namespace

Status Schema::apply_file(std::string_view text, const std::string& name,
                          std::vector<std::string>& notices) {
  std::vector<Error> errors;
  read_entries(text, name, notices, errors);
  if (!errors.empty()) return all_of(std::move(errors));
  return Ok{};
}

void Schema::take_other(OtherFile file, std::vector<std::string>& notices,
                        std::vector<Error>& errors) {
  for (std::string& notice : file.notices) notices.push_back(std::move(notice));
  for (Error& e : file.errors) errors.push_back(std::move(e));
  for (const OtherFile::Entry& entry : file.entries) {
    if (spelling_.count(entry.setting) == 0) {
      errors.push_back(unknown(entry.setting, entry.setting, entry.place));
      continue;
    }
    if (Status s = apply(entry.setting, entry.value, {SettingSource::kFile, entry.place}, notices);
        !s.ok())
      errors.push_back(s.error());
  }
}

void Schema::read_entries(std::string_view text, const std::string& name,
                          std::vector<std::string>& notices, std::vector<Error>& errors) {
  if (read_other_)
    if (std::optional<OtherFile> other = read_other_(text, name))
      return take_other(std::move(*other), notices, errors);
  bool json = to_lower(name).ends_with(".json");
  Result<std::vector<Entry>> entries = json ? read_json(text, name) : read_yaml(text, name);
  if (!entries.ok()) return errors.push_back(entries.error());
  std::map<std::string, TextPlace> seen;
  for (const Entry& entry : *entries) {
    std::string key = entry.key, place = place_text(name, entry.place);
    std::replace(key.begin(), key.end(), '-', '_');
    auto it = spelling_.find(key);
    if (it == spelling_.end()) {
      errors.push_back(unknown(key, entry.key, place));
      continue;
    }
    std::string own = it->second.foreign ? key : settings_[it->second.setting].name;
    auto [before, first] = seen.emplace(own, entry.place);
    if (!first) {
      errors.push_back(
          Error(err::kSettingTwice,
                fmt::format("{} appears twice: here and in line {}", own, before->second.line))
              .at(place)
              .todo("keep one of them"));
      continue;
    }
    // null for a setting that cannot be null means "as if the key were absent".
    if (entry.value.is_null() && !it->second.foreign &&
        !settings_[it->second.setting].default_value.is_null()) {
      continue;
    }
    if (Status s = apply(key, entry.value, {SettingSource::kFile, place}, notices); !s.ok())
      errors.push_back(s.error());
  }
}

}  // namespace hone

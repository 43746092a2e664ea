// Settings files: YAML and JSON.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <sstream>

#include "base/core/text.h"
#include "base/settings/errors.h"
#include "base/settings/settings.h"

namespace hone {
namespace {

struct Entry {
  std::string key;
  Json value;
  TextPlace place;
};

// Aliases (&a, *a) share nodes, so a few lines can unfold into billions; this many are plenty.
constexpr int kMostNodes = 100000;
constexpr int kMostDepth = 64;

std::string place_text(const std::string& name, TextPlace p) {
  return fmt::format("{}:{}:{}", name, p.line, p.column);
}
TextPlace place_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {mark.line + 1, mark.column + 1};
}

// A scalar keeps its text (the setting's own type decides what it means: `5e-5`, `no`) unless it
// lies inside a map, where only a JSON setting can have asked for it and YAML's own types hold.
Result<Json> json_of(const YAML::Node& node, bool typed, int depth, int& budget,
                     const std::string& name) {
  if (--budget < 0 || depth > kMostDepth) {
    return Error(err::kConfigSyntax, fmt::format("{}: too many or too deeply nested values",
                                                 place_text(name, place_of(node.Mark()))));
  }
  switch (node.Type()) {
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null:
      return Json(nullptr);
    case YAML::NodeType::Sequence: {
      Json list = Json::array();
      for (const YAML::Node& element : node) {
        list.push_back(HONE_TRY(json_of(element, typed, depth + 1, budget, name)));
      }
      return list;
    }
    case YAML::NodeType::Map: {
      Json map = Json::object();
      for (const auto& entry : node) {
        if (!entry.first.IsScalar()) {
          return Error(err::kConfigSyntax,
                       fmt::format("{}: a key must be plain text",
                                   place_text(name, place_of(entry.first.Mark()))));
        }
        map[entry.first.Scalar()] = HONE_TRY(json_of(entry.second, true, depth + 1, budget, name));
      }
      return map;
    }
    case YAML::NodeType::Scalar:
      break;
  }
  const std::string& text = node.Scalar();
  bool quoted = node.Tag() == "!";
  if (quoted || !typed) return Json(text);
  if (text == "true" || text == "True") return Json(true);
  if (text == "false" || text == "False") return Json(false);
  int64_t i = 0;
  double d = 0;
  if (assign(Field(&d), text)) {
    bool integer = text.find_first_of(".eE") == std::string::npos && assign(Field(&i), text);
    return integer ? Json(i) : Json(d);
  }
  return Json(text);
}

// Sees a document go by and keeps nothing.
struct Passing : YAML::EventHandler {
  using Mark = YAML::Mark;
  using Text = std::string;
  void OnDocumentStart(const Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark&, YAML::anchor_t) override {}
  void OnAlias(const Mark&, YAML::anchor_t) override {}
  void OnScalar(const Mark&, const Text&, YAML::anchor_t, const Text&) override {}
  void OnSequenceStart(const Mark&, const Text&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark&, const Text&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// YAML::LoadAll never ends on some texts (",a"), which are endless empty documents to it; so the
// second document already ends the count.
bool has_two_documents(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Passing passing;
  return parser.HandleNextDocument(passing) && parser.HandleNextDocument(passing);
}

Result<std::vector<Entry>> read_yaml(std::string_view text, const std::string& name) {
  for (size_t at = 0; at < text.size();) {
    int n = utf8_length(text.substr(at, 4));
    if (n == 0) {
      return Error(err::kConfigSyntax, fmt::format("{}: byte {} is not UTF-8", name, at))
          .todo("save the file as UTF-8");
    }
    at += static_cast<size_t>(n);
  }
  try {
    if (has_two_documents(std::string(text))) {
      return Error(err::kConfigSyntax, fmt::format("{}: more than one YAML document", name))
          .todo("remove lines '---' after the first setting, and commas at the start of lines");
    }
    YAML::Node document = YAML::Load(std::string(text));
    if (document.IsNull()) return std::vector<Entry>{};
    if (!document.IsMap()) {
      return Error(err::kConfigSyntax,
                   fmt::format("{}: a settings file is a list of lines 'name: value'", name))
          .at(place_text(name, place_of(document.Mark())));
    }
    std::vector<Entry> entries;
    int budget = kMostNodes;
    for (const auto& entry : document) {
      TextPlace place = place_of(entry.first.Mark());
      if (!entry.first.IsScalar()) {
        return Error(err::kConfigSyntax,
                     fmt::format("{}: a key must be plain text", place_text(name, place)));
      }
      Json value = HONE_TRY(json_of(entry.second, false, 0, budget, name));
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
  for (auto& [key, value] : json.items()) entries.push_back({key, value, places["/" + key]});
  return entries;
}

}  // namespace

Status Schema::apply_file(std::string_view text, const std::string& name,
                          std::vector<std::string>& notices) {
  bool json = to_lower(name).ends_with(".json");
  std::vector<Entry> entries = HONE_TRY(json ? read_json(text, name) : read_yaml(text, name));
  std::map<std::string, TextPlace> seen;
  for (const Entry& entry : entries) {
    std::string key = entry.key, place = place_text(name, entry.place);
    std::replace(key.begin(), key.end(), '-', '_');
    auto it = spelling_.find(key);
    if (it == spelling_.end()) return unknown(key, entry.key, place);
    std::string own = it->second.foreign ? key : settings_[it->second.setting].name;
    auto [before, first] = seen.emplace(own, entry.place);
    if (!first) {
      return Error(err::kSettingTwice,
                   fmt::format("{} stands twice: here and in line {}", own, before->second.line))
          .at(place)
          .todo("keep one of them");
    }
    // null where none is allowed means "as if it were not there".
    if (entry.value.is_null() && !it->second.foreign &&
        !settings_[it->second.setting].default_value.is_null()) {
      continue;
    }
    HONE_TRY(apply(key, entry.value, {SettingSource::kFile, place}, notices));
  }
  return Ok{};
}

}  // namespace hone

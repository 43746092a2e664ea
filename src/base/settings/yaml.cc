#include "base/settings/yaml.h"

#include <yaml-cpp/eventhandler.h>

#include <sstream>

#include "base/core/text.h"
#include "base/settings/errors.h"
#include "base/settings/value.h"
#include "base/settings/yaml_node.h"

namespace hone {
namespace {

constexpr int kMostDepth = 64;

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

// `node` has passed json_of, so its depth and size are limited.
void add_places(const YAML::Node& node, const std::string& pointer, JsonPlaces& places) {
  if (node.IsSequence()) {
    for (size_t i = 0; i < node.size(); ++i) {
      const std::string at = fmt::format("{}/{}", pointer, i);
      places.emplace(at, place_of(node[i].Mark()));
      add_places(node[i], at, places);
    }
  } else if (node.IsMap()) {
    for (const auto& entry : node) {
      const std::string at = pointer + "/" + entry.first.Scalar();
      places.emplace(at, place_of(entry.first.Mark()));
      add_places(entry.second, at, places);
    }
  }
}

}  // namespace

std::string place_text(const std::string& name, TextPlace p) {
  return fmt::format("{}:{}:{}", name, p.line, p.column);
}
TextPlace place_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {mark.line + 1, mark.column + 1};
}

Result<Json> json_of(const YAML::Node& node, YamlScalars scalars, const std::string& name,
                     int& budget, int depth) {
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
        list.push_back(HONE_TRY(json_of(element, scalars, name, budget, depth + 1)));
      }
      return list;
    }
    case YAML::NodeType::Map: {
      Json map = Json::object();
      const YamlScalars inside =
          scalars == YamlScalars::kText ? YamlScalars::kText : YamlScalars::kTyped;
      for (const auto& entry : node) {
        if (!entry.first.IsScalar()) {
          return Error(err::kConfigSyntax,
                       fmt::format("{}: a key must be plain text",
                                   place_text(name, place_of(entry.first.Mark()))));
        }
        map[entry.first.Scalar()] =
            HONE_TRY(json_of(entry.second, inside, name, budget, depth + 1));
      }
      return map;
    }
    case YAML::NodeType::Scalar:
      break;
  }
  const std::string& text = node.Scalar();
  bool quoted = node.Tag() == "!";
  if (quoted || scalars != YamlScalars::kTyped) return Json(text);
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

Result<YAML::Node> load_yaml(std::string_view text, const std::string& name) {
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
    return YAML::Load(std::string(text));
  } catch (const YAML::Exception& e) {
    return Error(err::kConfigSyntax,
                 fmt::format("{}: {}", place_text(name, place_of(e.mark)), e.msg));
  } catch (const std::exception& e) {
    return Error(err::kConfigSyntax, fmt::format("{}: {}", name, e.what()));
  }
}

Result<Json> parse_yaml(std::string_view text, const std::string& name, JsonPlaces* places) {
  YAML::Node document = HONE_TRY(load_yaml(text, name));
  int budget = kMostYamlNodes;
  try {
    Json json = HONE_TRY(json_of(document, YamlScalars::kText, name, budget));
    if (places != nullptr) add_places(document, "", *places);
    return json;
  } catch (const std::exception& e) {
    return Error(err::kConfigSyntax, fmt::format("{}: {}", name, e.what()));
  }
}

}  // namespace hone

#include "operate/pipeline/config_tree.h"

#include <set>

#include "base/core/text.h"
#include "base/settings/errors.h"
#include "base/settings/value.h"
#include "base/settings/yaml_node.h"
#include "operate/pipeline/errors.h"

namespace hone {
namespace {

constexpr int kDeepestNode = 64;

Error twice(const std::string& key, const std::string& place) {
  return Error(err::kPipelineKey, fmt::format("'{}' is given twice", key))
      .at(place)
      .todo("keep one of the two");
}

class YamlReader {
 public:
  YamlReader(ConfigTree& tree) : tree_(tree) {}

  Result<OrderedJson> read(const YAML::Node& node, const std::string& pointer, int depth) {
    tree_.places.emplace(pointer, place_of(node.Mark()));
    if (--budget_ < 0 || depth > kDeepestNode)
      return Error(err::kPipelineFile, "too many or too deeply nested values")
          .at(tree_.place(pointer));
    if (node.IsMap()) return map(node, pointer, depth);
    if (node.IsSequence()) {
      OrderedJson list = OrderedJson::array();
      for (const YAML::Node& element : node)
        list.push_back(
            HONE_TRY(read(element, fmt::format("{}/{}", pointer, list.size()), depth + 1)));
      return list;
    }
    if (!node.IsScalar()) return OrderedJson(nullptr);
    // The typed form of one scalar; base/settings knows what YAML means by it.
    int one = 1;
    return OrderedJson(HONE_TRY(json_of(node, YamlScalars::kTyped, tree_.name, one)));
  }

 private:
  Result<OrderedJson> map(const YAML::Node& node, const std::string& pointer, int depth) {
    OrderedJson object = OrderedJson::object();
    for (const auto& entry : node) {
      const TextPlace at = place_of(entry.first.Mark());
      if (!entry.first.IsScalar())
        return Error(err::kPipelineFile, "a key must be plain text").at(place_text(tree_.name, at));
      const std::string key = entry.first.Scalar(), below = pointer + "/" + pointer_part(key);
      if (object.contains(key)) return twice(key, place_text(tree_.name, at));
      object[key] = HONE_TRY(read(entry.second, below, depth + 1));
      tree_.places.erase(below);
      tree_.places.emplace(below, at);
    }
    return object;
  }

  ConfigTree& tree_;
  int budget_ = kMostYamlNodes;
};

void write_yaml(const OrderedJson& value, int indent, bool in_list, std::string& out) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  if (value.is_object() && !value.empty()) {
    bool first = in_list;
    for (const auto& [key, member] : value.items()) {
      if (!first) out += margin;
      first = false;
      const bool plain = !key.empty() &&
                         key.find_first_not_of(
                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
                             "WXYZ_-") == std::string::npos &&
                         key[0] != '-' && !bool_of(key) && to_lower(key) != "null" && key != "n" &&
                         key != "y";
      out += (plain ? key : dump_json(OrderedJson(key))) + ":";
      const bool nested = member.is_structured() && !member.empty();
      out += nested ? "\n" : " ";
      write_yaml(member, indent + 2, false, out);
    }
  } else if (value.is_array() && !value.empty()) {
    bool first = in_list;
    for (const OrderedJson& element : value) {
      if (!first) out += margin;
      first = false;
      out += "- ";
      write_yaml(element, indent + 2, true, out);
    }
  } else {
    out += dump_json(value) + "\n";  // a JSON scalar is a YAML scalar
  }
}

}  // namespace

std::string pointer_part(const std::string& key) {
  std::string part;
  for (const char c : key) part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return part;
}

std::string ConfigTree::place(const std::string& pointer) const {
  const auto at = places.find(pointer);
  return at == places.end() ? name : place_text(name, at->second);
}

Result<ConfigTree> read_config_tree(std::string_view text, const std::string& name) {
  ConfigTree tree{.name = name, .value = {}, .places = {}};
  if (to_lower(name).ends_with(".json")) {
    const JsonRules rules{.places = &tree.places};
    if (const auto fault = parse_json(text, rules, tree.value))
      return Error(fault->code, fault->what)
          .at(place_text(name, fault->place))
          .todo("correct the file there: a comma too many or too few is a frequent cause");
    for (auto at = tree.places.begin(); at != tree.places.end(); ++at) {
      const auto after = std::next(at);
      if (after == tree.places.end() || after->first != at->first) continue;
      return twice(at->first.substr(at->first.rfind('/') + 1), place_text(name, after->second));
    }
    return tree;
  }
  const YAML::Node document = HONE_TRY(load_yaml(text, name));
  try {
    tree.value = HONE_TRY(YamlReader(tree).read(document, "", 0));
  } catch (const YAML::Exception& e) {
    return Error(err::kPipelineFile, e.msg).at(place_text(name, place_of(e.mark)));
  }
  return tree;
}

std::string yaml_text(const OrderedJson& value) {
  std::string out;
  write_yaml(value, 0, false, out);
  return out;
}

}  // namespace hone

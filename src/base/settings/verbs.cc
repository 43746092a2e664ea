#include "base/settings/verbs.h"

#include "base/core/text.h"

namespace hone {
namespace {

constexpr const char* kVerb = "verb";

bool holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool has_verbs(const Schema& schema) {
  return !schema.positional().empty() && schema.positional().front() == kVerb;
}

// A part of a help: the verbs that it is about (empty: those of the setting) and its text.
struct HelpPart {
  std::vector<std::string> verbs;
  std::string text;
};

// "promote, rollback: a sentence", unless a word that is not in `known` is before the colon.
HelpPart help_part(const std::vector<std::string>& known, std::string_view text) {
  text = trim(text);
  const size_t colon = text.find(": ");
  HelpPart part{.verbs = {}, .text = std::string(text)};
  if (colon == std::string_view::npos) return part;
  for (const std::string& word : split(text.substr(0, colon), ',')) {
    part.verbs.emplace_back(trim(word));
    if (!holds(known, part.verbs.back())) return {.verbs = {}, .text = std::move(part.text)};
  }
  part.text = text.substr(colon + 2);
  return part;
}

// Parts end at a semicolon outside of parentheses. One without verbs is about those of the part
// before it.
std::vector<HelpPart> help_parts(const std::vector<std::string>& known, std::string_view help) {
  std::vector<HelpPart> parts;
  size_t begin = 0;
  int open = 0;
  for (size_t i = 0; i <= help.size(); ++i) {
    const char c = i < help.size() ? help[i] : ';';
    open += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c != ';' || (open > 0 && i < help.size())) continue;
    HelpPart part = help_part(known, help.substr(begin, i - begin));
    if (part.verbs.empty() && !parts.empty()) part.verbs = parts.back().verbs;
    parts.push_back(std::move(part));
    begin = i + 1;
  }
  return parts;
}

}  // namespace

std::vector<Verb> verbs_of(const Schema& schema) {
  if (!has_verbs(schema)) return {};
  const Setting& setting = schema.at(kVerb);
  std::vector<Verb> verbs;
  for (const std::string& name : setting.words())
    verbs.push_back({name, help_for_verb(schema, setting, name)});
  return verbs;
}

std::vector<std::string> verbs_of(const Schema& schema, const Setting& setting) {
  if (!has_verbs(schema) || setting.name == kVerb) return {};
  const std::vector<std::string> known = schema.at(kVerb).words();
  const std::vector<HelpPart> parts = help_parts(known, setting.help);
  std::vector<std::string> verbs;
  if (!parts.front().verbs.empty())
    for (const HelpPart& part : parts)
      for (const std::string& v : part.verbs)
        if (!holds(verbs, v)) verbs.push_back(v);
  const std::string group = to_lower(setting.group);
  if (verbs.empty() && holds(known, group)) verbs.push_back(group);
  return verbs;
}

bool is_used_by(const Schema& schema, const Setting& setting, const std::string& verb) {
  if (setting.name == kVerb) return false;
  const std::vector<std::string> verbs = verbs_of(schema, setting);
  return verbs.empty() || holds(verbs, verb);
}

std::string help_for_verb(const Schema& schema, const Setting& setting, const std::string& verb) {
  if (!has_verbs(schema)) return setting.help;
  std::vector<std::string> texts;
  for (const HelpPart& part : help_parts(schema.at(kVerb).words(), setting.help))
    if (part.verbs.empty() || holds(part.verbs, verb)) texts.push_back(part.text);
  return join(texts, "; ");
}

}  // namespace hone

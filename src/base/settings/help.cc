// Texts for people: --help, the table of changed settings, --dump-config, the reference page.
#include "base/core/color.h"
#include "base/core/text.h"
#include "base/settings/columns.h"
#include "base/settings/settings.h"
#include "base/settings/verbs.h"

namespace hone {
namespace {

// The meaning of a setting and its default. A default that is computed is a part of the meaning,
// unless a command sets its own.
std::pair<std::string, std::string> meaning(const Setting& s) {
  std::string text = s.help, value = value_text(s.default_value);
  const size_t from = text.find(" (default: ");
  if (from == std::string::npos) return {text, value};
  if (s.default_value == s.defined_value) return {text, ""};
  return {text.erase(from, text.find(')', from) + 1 - from), value};
}

constexpr size_t kShownChoices = 28;  // bytes of choices that are part of the flag's form

size_t line_width(int width) { return static_cast<size_t>(std::clamp(width, 40, 120)); }
// Column in which the meaning of a flag begins.
size_t text_column(size_t width) { return width >= 100 ? 34 : width >= 60 ? 28 : 8; }

bool shows_common_alone(const Schema& schema, const HelpOptions& how) {
  return how.verb.empty() && !how.all && has_common(schema);
}

// The settings that help shows. Verbs have a table of their own.
std::vector<const Setting*> shown_settings(const Schema& schema, const HelpOptions& how) {
  const bool common_alone = shows_common_alone(schema, how), verbs = !verbs_of(schema).empty();
  std::vector<const Setting*> shown;
  for (const Setting& s : schema.all()) {
    if (verbs && s.name == schema.positional().front()) continue;
    if (how.verb.empty() ? !common_alone || s.common : is_used_by(schema, s, how.verb))
      shown.push_back(&s);
  }
  return shown;
}

std::string usage(const Schema& schema, const std::string& verb) {
  std::string out = "usage: " + schema.command() + (verb.empty() ? "" : " " + verb);
  if (schema.positional().empty()) out += " [FILE.yaml|FILE.json]";
  for (const std::string& p : schema.positional()) {
    const Setting& s = schema.at(p);
    if (!verb.empty() && !is_used_by(schema, s, verb)) continue;
    std::string upper = p;
    for (char& c : upper) c = static_cast<char>(std::toupper(c));
    out += s.required ? " " + upper : " [" + upper + "]";
  }
  return out + " [--setting value ...]\n";
}

std::string verbs_help(const Schema& schema, size_t width) {
  const std::vector<Verb> verbs = verbs_of(schema);
  if (verbs.empty()) return "";
  std::string out = "\nVerbs\n";
  for (const Verb& v : verbs) out += two_columns("  " + v.name, v.summary, 14, width);
  return out + "\n" +
         wrapped(fmt::format("'{} VERB --help' shows the settings of one.", schema.command()), 0,
                 width) +
         "\n";
}

std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

}  // namespace

std::string flag_form(const Setting& s) {
  std::string flag = "--" + s.name;
  if (is_bool(s.field)) return flag;
  std::string choices = join(s.words(), "|");
  const bool short_enough = !choices.empty() && choices.size() <= kShownChoices;
  return flag + " " + (short_enough ? choices : metavariable(s.field));
}

std::string flag_text(const Setting& s) {
  auto [text, value] = meaning(s);
  std::string choices = join(s.words(), ", ");
  if (choices.size() > kShownChoices) text += "; one of " + choices;
  if (!s.aliases.empty()) text += fmt::format("; also --{}", join(s.aliases, ", --"));
  if (s.required) return text + " (required)";
  const bool says_nothing = value.empty() || s.default_value.is_null();
  return says_nothing ? text : text + fmt::format(" [{}]", value);
}

std::vector<std::string> Schema::groups() const {
  std::vector<std::string> names;
  for (const Setting& s : settings_) {
    if (std::find(names.begin(), names.end(), s.group) == names.end()) names.push_back(s.group);
  }
  return names;
}

std::string Schema::settings_help(const HelpOptions& how) const {
  const size_t width = line_width(how.width), column = text_column(width);
  const std::vector<const Setting*> shown = shown_settings(*this, how);
  std::string out;
  for (const std::string& group : groups()) {
    std::string rows;
    for (const Setting* s : shown) {
      if (s->group != group) continue;
      Setting described = *s;
      if (!how.verb.empty()) described.help = help_for_verb(*this, *s, how.verb);
      rows += two_columns("  " + flag_form(*s), flag_text(described), column, width);
    }
    if (!rows.empty()) out += "\n" + group + "\n" + rows;
  }
  return out;
}

std::string Schema::help(const HelpOptions& how) const {
  const size_t width = line_width(how.width), column = text_column(width);
  std::string name = command_, about = summary_;
  for (const Verb& v : verbs_of(*this))
    if (v.name == how.verb) name += " " + v.name, about = v.summary;
  std::string out = wrapped(name + ": " + about, 0, width) + "\n\n" + usage(*this, how.verb);
  if (how.verb.empty()) out += verbs_help(*this, width);
  out += settings_help(how);
  const bool some = shows_common_alone(*this, how);
  std::vector<std::pair<std::string, std::string>> every = {
      {"--config FILE", "read settings from a YAML or JSON file"},
      {"--dump-config", "print the merged settings as JSON and end"},
      {"--color " + join(color_words(), "|"), std::string(kColorHelp)},
      {"--help", "print this and end"}};
  if (some)
    every.emplace_back("--help all",
                       fmt::format("print all {} settings and end", settings_.size()));
  out += "\nEvery command\n";
  for (const auto& [flag, text] : every) out += two_columns("  " + flag, text, column, width);
  out += "\n" +
         wrapped(
             "Later wins: default, file, environment (HONE_SEED=1), flag. '-' and '_' are "
             "the same in names; --no_name turns a switch off.",
             0, width) +
         "\n";
  if (some)
    out += "\n" +
           wrapped(fmt::format("These are the {} commonest of {} settings: '{} --help all' shows "
                               "all.",
                               shown_settings(*this, how).size(), settings_.size(), command_),
                   0, width) +
           "\n";
  return out;
}

std::string Schema::changed_table() const {
  std::vector<std::array<std::string, 3>> rows;
  size_t name_width = 0, value_width = 0;
  for (const Setting& s : settings_) {
    if (!s.changed()) continue;
    std::string value = s.secret ? "***" : value_text(s.value());
    name_width = std::max(name_width, s.name.size());
    if (value.size() <= 40) value_width = std::max(value_width, value.size());
    rows.push_back({s.name, value, s.origin.place});
  }
  std::string out;
  for (const auto& [name, value, place] : rows) {
    out += fmt::format("{:<{}}  {:<{}}  ({})\n", name, name_width, value, value_width, place);
  }
  return out;
}

OrderedJson Schema::dump() const {
  OrderedJson out = OrderedJson::object();
  for (const Setting& s : settings_) {
    if (!s.secret) out[s.name] = s.value();
  }
  return out;
}

std::string Schema::reference() const {
  return fmt::format("# {}\n\n{}.\n", command_, summary_) + settings_reference();
}

std::string Schema::settings_reference() const {
  std::string out;
  for (const std::string& group : groups()) {
    out += fmt::format("\n## {}\n\n| flag | default | meaning |\n|---|---|---|\n", group);
    for (const Setting& s : settings_) {
      if (s.group != group) continue;
      auto [text, value] = meaning(s);
      if (!s.choices.empty()) text += fmt::format("; one of {}", join(s.words(), ", "));
      if (!s.aliases.empty()) text += fmt::format("; also --{}", join(s.aliases, ", --"));
      out += fmt::format("| `--{}` | {} | {} |\n", s.name, s.required ? "required" : cell(value),
                         cell(text));
    }
  }
  std::string old;
  for (const auto& [name, spelling] : spelling_) {
    if (spelling.deprecated)
      old += fmt::format("- `--{}`: `--{}`\n", name, settings_[spelling.setting].name);
  }
  if (!old.empty()) out += "\n## Old spellings\n\n" + old;
  for (bool refused : {true, false}) {
    std::string list;
    for (const auto& [name, f] : foreign_) {
      if (f.refused == refused) list += fmt::format("- `--{}`: {}\n", name, f.why);
    }
    if (!list.empty()) {
      out += fmt::format("\n## {}\n\n{}",
                         refused ? "Refused by this version" : "Accepted without effect", list);
    }
  }
  return out;
}

}  // namespace hone

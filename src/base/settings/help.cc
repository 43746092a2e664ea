// Texts for people: --help, the table of changed settings, --dump-config, the reference page.
#include "base/core/text.h"
#include "base/settings/settings.h"

namespace hone {
namespace {

// Words of `text` in lines of at most `width`, each after the first preceded by `indent` spaces.
std::string wrapped(std::string_view text, size_t indent, size_t width) {
  std::string out;
  size_t column = indent;
  for (const std::string& word : split(text, ' ')) {
    if (column > indent && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string form(const Setting& s) {
  std::string flag = "--" + s.name;
  if (is_bool(s.field)) return flag;
  std::string choices = join(s.words(), "|");
  bool short_enough = !choices.empty() && choices.size() <= 28;
  return flag + " " + (short_enough ? choices : metavariable(s.field));
}

// The meaning of a setting and its default. A default that is computed is a part of the meaning,
// unless a command sets its own.
std::pair<std::string, std::string> meaning(const Setting& s) {
  std::string text = s.help, value = value_text(s.default_value);
  const size_t from = text.find(" (default: ");
  if (from == std::string::npos) return {text, value};
  if (s.default_value == s.defined_value) return {text, ""};
  return {text.erase(from, text.find(')', from) + 1 - from), value};
}

std::string explanation(const Setting& s) {
  auto [text, value] = meaning(s);
  std::string choices = join(s.words(), ", ");
  if (choices.size() > 28) text += "; one of " + choices;
  if (!s.aliases.empty()) text += fmt::format("; also --{}", join(s.aliases, ", --"));
  if (s.required) return text + " (required)";
  bool says_nothing = value.empty() || s.default_value.is_null();
  return says_nothing ? text : text + fmt::format(" [{}]", value);
}

constexpr size_t kColumn = 34;
size_t line_width(int width) { return static_cast<size_t>(std::clamp(width, 60, 120)); }

std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

}  // namespace

std::vector<std::string> Schema::groups() const {
  std::vector<std::string> names;
  for (const Setting& s : settings_) {
    if (std::find(names.begin(), names.end(), s.group) == names.end()) names.push_back(s.group);
  }
  return names;
}

std::string Schema::settings_help(int width) const {
  const size_t most = line_width(width);
  std::string out;
  for (const std::string& group : groups()) {
    out += "\n" + group + "\n";
    for (const Setting& s : settings_) {
      if (s.group != group) continue;
      std::string left = "  " + form(s);
      if (left.size() + 2 > kColumn)
        out += left + "\n" + std::string(kColumn, ' ');
      else
        out += left + std::string(kColumn - left.size(), ' ');
      out += wrapped(explanation(s), kColumn, most) + "\n";
    }
  }
  return out;
}

std::string Schema::help(int width) const {
  const size_t most = line_width(width);
  std::string out = fmt::format("{}: {}\n\nusage: {}", command_, summary_, command_);
  if (positional_.empty()) out += " [FILE.yaml|FILE.json]";
  for (const std::string& p : positional_) {
    std::string upper = p;
    for (char& c : upper) c = static_cast<char>(std::toupper(c));
    out += at(p).required ? " " + upper : " [" + upper + "]";
  }
  out += " [--setting value ...]\n";
  out += settings_help(width);
  out += "\nEvery command\n";
  for (auto [flag, text] :
       {std::pair{"  --config FILE", "read settings from a YAML or JSON file"},
        std::pair{"  --dump-config", "print the merged settings as JSON and end"},
        std::pair{"  --help", "print this and end"}}) {
    out += fmt::format("{:<{}}{}\n", flag, kColumn, text);
  }
  out += "\n" +
         wrapped(
             "Later wins: default, file, environment (HONE_SEED=1), flag. '-' and '_' are "
             "the same in names; --no_name turns a switch off.",
             0, most) +
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

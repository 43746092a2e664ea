#include "run/manual/sheet.h"

#include <set>

#include "base/core/color.h"
#include "base/core/text.h"

namespace hone {
namespace {

constexpr size_t kMostClause = 70;

FlagValue value_of_flag(const Setting& s) {
  if (is_bool(s.field)) return FlagValue::kNone;
  if (!s.words().empty()) return FlagValue::kWords;
  return is_text(s.field) ? FlagValue::kFile : FlagValue::kOther;
}

}  // namespace

void add_flags(CommandSheet& sheet, const Schema& schema, const std::string& part) {
  if (part.empty()) {
    sheet.positional = schema.positional();
    sheet.verbs = verbs_of(schema);
    if (sheet.verbs.empty() && !sheet.positional.empty())
      sheet.first_words = schema.at(sheet.positional.front()).words();
  }
  for (const Setting& s : schema.all()) {
    if (!sheet.verbs.empty() && s.name == sheet.positional.front()) continue;
    const std::vector<std::string> verbs = verbs_of(schema, s);
    FlagSheet flag{.name = s.name,
                   .part = part,
                   .group = s.group,
                   .form = flag_form(s),
                   .text = flag_text(s),
                   .brief = first_clause(help_for_verb(schema, s, verbs.empty() ? "" : verbs[0])),
                   .value = value_of_flag(s),
                   .list = is_list(s.field),
                   .words = s.words(),
                   .verbs = verbs};
    sheet.flags.push_back(std::move(flag));
  }
  if (!part.empty()) return;
  const std::string every = "Every command";
  sheet.flags.push_back({.name = "config",
                         .group = every,
                         .form = "--config FILE",
                         .text = "read settings from a YAML or JSON file",
                         .brief = "read settings from a YAML or JSON file",
                         .value = FlagValue::kFile});
  const std::string color(kColorHelp);
  sheet.flags.push_back({.name = "color",
                         .group = every,
                         .form = "--color " + join(color_words(), "|"),
                         .text = color,
                         .brief = first_clause(color),
                         .value = FlagValue::kWords,
                         .words = color_words()});
  sheet.flags.push_back({.name = "help",
                         .group = every,
                         .form = "--help [all]",
                         .text = "print the commonest settings, or all of them, and end",
                         .brief = "print the settings and end",
                         .value = FlagValue::kWords,
                         .words = {"all"}});
}

std::vector<const FlagSheet*> flags_of_verb(const CommandSheet& sheet, const std::string& verb) {
  std::vector<const FlagSheet*> flags;
  std::set<std::string> names;
  for (const FlagSheet& f : sheet.flags) {
    const bool used = verb.empty() || f.verbs.empty() ||
                      std::find(f.verbs.begin(), f.verbs.end(), verb) != f.verbs.end();
    if (used && names.insert(f.name).second) flags.push_back(&f);
  }
  return flags;
}

std::string first_clause(const std::string& text) {
  size_t end = text.size();
  for (const char* stop : {"; ", ". ", " (", " ["}) end = std::min(end, text.find(stop));
  std::string clause = text.substr(0, end);
  if (clause.size() <= kMostClause) return clause;
  clause = utf8_prefix(clause, kMostClause - 3);
  return clause.substr(0, clause.rfind(' ')) + "...";
}

}  // namespace hone

// The command line and the environment.
#include <unistd.h>

#include "base/core/text.h"
#include "base/settings/errors.h"
#include "base/settings/settings.h"
#include "base/settings/verbs.h"

extern char** environ;

namespace hone {
namespace {

std::string underscored(std::string_view s) {
  std::string out(s);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

bool is_flag(std::string_view word) { return word.size() > 2 && word.starts_with("--"); }

bool names_config(std::string_view word) {
  std::string w = to_lower(word);
  return w.ends_with(".yaml") || w.ends_with(".yml") || w.ends_with(".json");
}

}  // namespace

std::map<std::string, std::string> environment_settings() {
  std::map<std::string, std::string> found;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) {
    std::string_view entry(*e);
    size_t eq = entry.find('=');
    if (entry.starts_with("HONE_") && eq != std::string_view::npos) {
      found.emplace(entry.substr(0, eq), entry.substr(eq + 1));
    }
  }
  return found;
}

const Setting* Schema::find_typed(const std::string& name) const {
  auto it = spelling_.find(name);
  return it == spelling_.end() || it->second.foreign ? nullptr : &settings_[it->second.setting];
}

// Reads the words of a command line from left to right.
class Schema::FlagReader {
 public:
  FlagReader(const Schema& schema, const std::vector<std::string>& args, ParseOutcome& outcome,
             std::vector<Error>& errors)
      : schema_(schema), args_(args), outcome_(outcome), errors_(errors) {}

  std::vector<Given> read() {
    bool flags_ended = false;
    for (; at_ < args_.size(); ++at_) {
      const std::string& word = args_[at_];
      if (!flags_ended && word == "--") {
        flags_ended = true;
      } else if (!flags_ended && (word == "-h" || word == "--help")) {
        outcome_.help = true;
        if (at_ + 1 < args_.size() && args_[at_ + 1] == "all") {
          outcome_.help_all = true;
          ++at_;
        }
      } else if (flags_ended || !is_flag(word)) {
        take_word(word);
      } else {
        take_flag(word);
      }
    }
    return std::move(given_);
  }

 private:
  // A flag as it was typed, and what it sets.
  struct Flag {
    std::string name, shown;  // "learning_rate", "--learning-rate" as typed
    bool is_config = false;
    const Setting* setting = nullptr;
    const Foreign* foreign = nullptr;
    bool is_known() const { return is_config || setting || foreign; }
    bool is_boolean() const {
      return setting ? is_bool(setting->field) : foreign && foreign->is_bool;
    }
    bool takes_list() const {
      return setting ? is_list(setting->field) : foreign && foreign->is_list;
    }
  };

  bool value_follows() const {
    return at_ + 1 < args_.size() && !is_flag(args_[at_ + 1]) && args_[at_ + 1] != "--";
  }
  std::string place() const { return fmt::format("argument {}: {}", at_ + 1, args_[at_]); }

  void take_word(const std::string& word) {
    if (positional_ < schema_.positional_.size()) {
      given_.push_back({schema_.positional_[positional_++], word, word});
      return;
    }
    if (outcome_.config_file.empty() && names_config(word)) {
      outcome_.config_file = word;
      return;
    }
    Error e(err::kUnexpectedArgument,
            fmt::format("{} does not know what to do with '{}'", schema_.command_, word));
    e.at(fmt::format("argument {}{}", at_ + 1, at_ > 0 ? ", after " + args_[at_ - 1] : ""));
    const std::string name = underscored(word), near = nearest_name(name, schema_.spellings());
    const bool is_name = !near.empty() && (word.starts_with("-") || near == name);
    std::string advice = is_name ? fmt::format("did you mean --{}?", near) : "";
    if (advice.empty() && schema_.advise_) advice = schema_.advise_(word);
    e.todo(advice.empty() ? "settings are flags: --name value" : std::move(advice));
    errors_.push_back(std::move(e));
  }

  void take_flag(const std::string& word) {
    const size_t eq = word.find('=');
    Flag f;
    f.shown = word.substr(0, eq);
    f.name = underscored(f.shown.substr(2));
    std::optional<std::string> value;
    if (eq != std::string::npos) value = word.substr(eq + 1);
    const bool is_own = schema_.spelling_.count(f.name) > 0;
    if (f.name == "dump_config" && !is_own) {
      outcome_.dump_config = true;
      return;
    }
    f.is_config = f.name == "config" && !is_own;
    f.setting = schema_.find_typed(f.name);
    if (const auto it = schema_.foreign_.find(f.name); it != schema_.foreign_.end())
      f.foreign = &it->second;
    if (!f.is_known()) return take_unknown(f, value.has_value());
    if (!value && !f.is_boolean() && f.takes_list() && value_follows()) return take_list(f);
    if (!value) value = next_value(f);
    if (!value) return miss_value(f);
    if (f.is_config)
      outcome_.config_file = *value;
    else
      given_.push_back({f.name, f.shown, *value});
  }

  // --no_name turns a bool off; every other name is an error.
  void take_unknown(const Flag& f, bool has_value) {
    const Setting* positive =
        f.name.starts_with("no_") ? schema_.find_typed(f.name.substr(3)) : nullptr;
    if (positive != nullptr && is_bool(positive->field) && !has_value) {
      given_.push_back({f.name.substr(3), f.shown, "false"});
      return;
    }
    errors_.push_back(schema_.unknown(f.name, f.shown, place()));
    // Its value is not an argument of its own; a settings file may be.
    while (!has_value && value_follows() && !names_config(args_[at_ + 1])) ++at_;
  }

  void take_list(const Flag& f) {
    Json list = Json::array();
    while (value_follows()) list.push_back(args_[++at_]);
    // One word may itself be a list with commas.
    given_.push_back({f.name, f.shown, list.size() == 1 ? list[0] : list});
  }

  // The value of a flag that has no "=": the next word, or what the flag alone means.
  std::optional<std::string> next_value(const Flag& f) {
    if (f.is_boolean()) {
      const bool is_told = value_follows() && (bool_of(args_[at_ + 1]) || args_[at_ + 1] == "None");
      return is_told ? args_[++at_] : "true";
    }
    if (value_follows()) return args_[++at_];
    if (f.foreign && !f.foreign->refused) return "";
    return std::nullopt;
  }

  void miss_value(const Flag& f) {
    errors_.push_back(
        Error(err::kSettingWithoutValue,
              fmt::format("{} needs a value: {}", f.shown,
                          f.setting ? expected(f.setting->field) : "text"))
            .at(at_ + 1 < args_.size() ? place() + " " + args_[at_ + 1] : place())
            .todo(fmt::format("write {} VALUE, or {}=VALUE when the value begins with --", f.shown,
                              f.shown)));
  }

  const Schema& schema_;
  const std::vector<std::string>& args_;
  ParseOutcome& outcome_;
  std::vector<Error>& errors_;
  std::vector<Given> given_;
  size_t at_ = 0, positional_ = 0;
};

std::vector<Schema::Given> Schema::read_flags(const std::vector<std::string>& args,
                                              ParseOutcome& outcome,
                                              std::vector<Error>& errors) const {
  return FlagReader(*this, args, outcome, errors).read();
}

// A flag or an argument that belongs to other verbs would do nothing.
void Schema::check_verb(const std::vector<Given>& flags, std::vector<Error>& errors) const {
  const std::vector<Verb> verbs = verbs_of(*this);
  const std::string verb = verbs.empty() ? "" : value_text(find_typed("verb")->value());
  if (std::none_of(verbs.begin(), verbs.end(), [&](const Verb& v) { return v.name == verb; }))
    return;
  for (const Given& g : flags) {
    const Setting* s = find_typed(g.name);
    if (s == nullptr || s->name == "verb" || is_used_by(*this, *s, verb)) continue;
    if (!is_flag(g.flag)) {
      const std::vector<std::string> others = verbs_of(*this, *s);
      errors.push_back(
          Error(err::kUnexpectedArgument,
                fmt::format("{} {} does not know what to do with '{}'", command_, verb, g.flag))
              .at(g.flag)
              .todo(fmt::format("leave it out, or use it with {}: {} {} {}", join(others, ", "),
                                command_, others[0], g.flag)));
      continue;
    }
    errors.push_back(
        Error(err::kUnknownSetting,
              fmt::format("{} {} has no setting '{}'", command_, verb, g.flag))
            .at(g.flag)
            .todo(fmt::format("it belongs to {} {}; '{} {} --help' lists those of {}", command_,
                              join(verbs_of(*this, *s), ", "), command_, verb, verb)));
  }
}

std::string Schema::config_file(const std::vector<std::string>& args) const {
  ParseOutcome outcome;
  std::vector<Error> errors;
  read_flags(args, outcome, errors);
  return outcome.config_file;
}

Status Schema::check_arguments(const std::vector<std::string>& args) const {
  ParseOutcome outcome;
  std::vector<Error> errors;
  read_flags(args, outcome, errors);
  std::erase_if(errors, [](const Error& e) { return !e.is(err::kUnexpectedArgument); });
  if (!errors.empty()) return all_of(std::move(errors));
  return Ok{};
}

Result<ParseOutcome> Schema::parse(const std::vector<std::string>& args,
                                   const std::map<std::string, std::string>& environment,
                                   const ReadFile& read) {
  ParseOutcome outcome;
  std::vector<Error> errors;
  std::vector<Given> flags = read_flags(args, outcome, errors);
  if (outcome.help) {
    for (const Given& g : flags)
      for (const Verb& v : verbs_of(*this))
        if (g.name == "verb" && g.value == Json(v.name)) outcome.verb = v.name;
    return outcome;
  }
  if (!outcome.config_file.empty()) {
    std::string text = HONE_TRY(read ? read(outcome.config_file) : read_file(outcome.config_file));
    read_entries(text, outcome.config_file, outcome.notices, errors);
  }
  for (const auto& [variable, value] : environment) {
    std::string name = to_lower(std::string_view(variable).substr(5));
    // Other HONE_ variables exist; an empty one counts as unset, as in shells.
    if (find_typed(name) == nullptr || value.empty()) continue;
    if (Status s = apply(name, value, {SettingSource::kEnvironment, variable}, outcome.notices);
        !s.ok())
      errors.push_back(s.error());
  }
  for (const Given& g : flags) {
    std::string place = g.flag;
    if (is_flag(g.flag))
      place += " " + (g.value.is_string() ? g.value.get<std::string>() : dump_json(g.value));
    if (const Setting* s = find_typed(g.name); s != nullptr && s->secret) place = g.flag;
    if (Status s = apply(g.name, g.value, {SettingSource::kFlag, place}, outcome.notices); !s.ok())
      errors.push_back(s.error());
    if (const Setting* s = find_typed(g.name)) find(s->name).origin.place = g.flag;
  }
  check_verb(flags, errors);
  if (follow_) follow_(*this, outcome.notices, errors);
  if (!errors.empty()) return all_of(std::move(errors));
  if (outcome.dump_config) return outcome;
  for (const Setting& s : settings_) {
    if (!s.required || s.origin.source != SettingSource::kDefault) continue;
    bool by_position =
        std::find(positional_.begin(), positional_.end(), s.name) != positional_.end();
    return Error(err::kSettingRequired,
                 fmt::format("{} needs {}: {}", command_,
                             by_position ? fmt::format("the argument {}", s.name) : "--" + s.name,
                             s.help))
        .todo(fmt::format("'{} --help' shows how to call it", command_));
  }
  return outcome;
}

}  // namespace hone

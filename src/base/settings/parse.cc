// The command line and the environment.
#include <unistd.h>

#include "base/core/text.h"
#include "base/settings/errors.h"
#include "base/settings/settings.h"

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

std::vector<Schema::Given> Schema::read_flags(const std::vector<std::string>& args,
                                              ParseOutcome& outcome,
                                              std::vector<Error>& errors) const {
  std::vector<Given> given;
  size_t positional = 0;
  bool flags_ended = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (!flags_ended && word == "--") {
      flags_ended = true;
      continue;
    }
    if (!flags_ended && (word == "-h" || word == "--help")) {
      outcome.help = true;
      return given;
    }
    if (flags_ended || !is_flag(word)) {
      if (positional < positional_.size()) {
        given.push_back({positional_[positional++], word, word});
        continue;
      }
      if (outcome.config_file.empty() && names_config(word)) {
        outcome.config_file = word;
        continue;
      }
      Error e(err::kUnexpectedArgument,
              fmt::format("{} does not know what to do with '{}'", command_, word));
      e.at(fmt::format("argument {}{}", i + 1, i > 0 ? ", after " + args[i - 1] : ""));
      std::string near = nearest_name(underscored(word), spellings());
      if (word.starts_with("-") && !near.empty())
        e.todo(fmt::format("did you mean --{}?", near));
      else
        e.todo("settings are flags: --name value");
      errors.push_back(std::move(e));
      continue;
    }

    size_t eq = word.find('=');
    std::string flag = word.substr(0, eq), name = underscored(flag.substr(2));
    bool has_value = eq != std::string::npos;
    std::string value = has_value ? word.substr(eq + 1) : "";
    bool next_is_word = i + 1 < args.size() && !is_flag(args[i + 1]) && args[i + 1] != "--";

    if (name == "dump_config" && !spelling_.count(name)) {
      outcome.dump_config = true;
      continue;
    }
    bool is_config = name == "config" && !spelling_.count(name);
    const Setting* setting = find_typed(name);
    auto foreign = foreign_.find(name);
    if (!is_config && setting == nullptr && foreign == foreign_.end()) {
      // --no_name turns a bool off.
      const Setting* positive = name.starts_with("no_") ? find_typed(name.substr(3)) : nullptr;
      if (positive == nullptr || !is_bool(positive->field) || has_value) {
        errors.push_back(unknown(name, flag, fmt::format("argument {}: {}", i + 1, word)));
        // Its value is not an argument of its own; a settings file may be.
        while (!has_value && i + 1 < args.size() && !is_flag(args[i + 1]) && args[i + 1] != "--" &&
               !names_config(args[i + 1]))
          ++i;
        continue;
      }
      given.push_back({name.substr(3), flag, "false"});
      continue;
    }
    bool boolean = setting ? is_bool(setting->field) : !is_config && foreign->second.is_bool;
    if (has_value) {
      // taken above
    } else if (boolean) {
      bool told = next_is_word && (bool_of(args[i + 1]) || args[i + 1] == "None");
      value = told ? args[++i] : "true";
    } else if (next_is_word &&
               (setting ? is_list(setting->field) : !is_config && foreign->second.is_list)) {
      Json list = Json::array();
      while (i + 1 < args.size() && !is_flag(args[i + 1]) && args[i + 1] != "--") {
        list.push_back(args[++i]);
      }
      // One word may itself be a list with commas.
      given.push_back({name, flag, list.size() == 1 ? list[0] : list});
      continue;
    } else if (next_is_word) {
      value = args[++i];
    } else if (foreign != foreign_.end() && !foreign->second.refused) {
      value = "";
    } else {
      errors.push_back(
          Error(err::kSettingWithoutValue, fmt::format("{} needs a value: {}", flag,
                                                       setting ? expected(setting->field) : "text"))
              .at(i + 1 < args.size() ? fmt::format("argument {}: {} {}", i + 1, word, args[i + 1])
                                      : fmt::format("argument {}: {}", i + 1, word))
              .todo(fmt::format("write {} VALUE, or {}=VALUE when the value begins with --", flag,
                                flag)));
      continue;
    }
    if (is_config)
      outcome.config_file = value;
    else
      given.push_back({name, flag, value});
  }
  return given;
}

std::string Schema::config_file(const std::vector<std::string>& args) const {
  ParseOutcome outcome;
  std::vector<Error> errors;
  read_flags(args, outcome, errors);
  return outcome.config_file;
}

Result<ParseOutcome> Schema::parse(const std::vector<std::string>& args,
                                   const std::map<std::string, std::string>& environment,
                                   const ReadFile& read) {
  ParseOutcome outcome;
  if (std::find(args.begin(), args.end(), "--help") != args.end()) {
    outcome.help = true;
    return outcome;
  }
  std::vector<Error> errors;
  std::vector<Given> flags = read_flags(args, outcome, errors);
  if (outcome.help) return outcome;
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

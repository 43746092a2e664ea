// Completion for zsh: the tables have a description beside each word.
// Reference: zshcompsys(1), _describe.
#include "base/core/text.h"
#include "run/manual/completion.h"
#include "run/manual/completion_shell.h"

namespace hone {
namespace {

constexpr const char* kReadZshLine = R"(
_hone() {
  local command=$words[2] verb=$words[3] cur=$words[CURRENT] kind list flag at distance
  local -a flags verbs firsts choices
  if (( CURRENT == 2 )); then
    _describe -t commands 'command' _hone_commands
    return
  fi
  if [[ $command == help ]]; then
    command=$verb
    _hone_flags "$command" "$words[4]"
    if (( CURRENT == 3 )); then
      if [[ $cur == -* ]]; then compadd -a _hone_help_flags; else _describe -t commands 'command' _hone_commands; fi
    fi
    if (( CURRENT == 4 )); then
      case $command in
        --completion) compadd -a _hone_shells ;;
        --man) _files -/ ;;
        *) (( $#verbs )) && _describe -t verbs 'verb' verbs ;;
      esac
    fi
    return
  fi
  _hone_flags "$command" "$verb"
  if [[ $cur == --*=* ]]; then
    flag=${cur%%=*} distance=1
    compset -P '*='
    cur=${cur#*=}
  else
    for (( at = CURRENT - 1; at > 2; --at )); do
      [[ $words[at] == --* ]] || continue
      flag=$words[at] distance=$(( CURRENT - at ))
      [[ $flag == *=* ]] && flag=
      break
    done
  fi
  if [[ -n $flag ]]; then
    _hone_value "$command" "--${${flag#--}//-/_}"
    if [[ -n $kind && ( $distance == 1 || -n $list ) && $cur != -* ]]; then
      case $kind in
        words) compadd -a choices ;;
        file) _files ;;
      esac
      return
    fi
  fi
  if [[ $cur == -* ]]; then
    _describe -o 'flag' flags
  elif (( CURRENT == 3 && $#verbs )); then
    _describe -t verbs 'verb' verbs
  elif (( CURRENT == 3 && $#firsts )); then
    compadd -a firsts
  else
    _files
  fi
}
# The first call comes while this file is loaded.
if [[ $funcstack[1] == _hone ]]; then
  _hone "$@"
else
  compdef _hone hone
fi
)";

// A word of an array in single quotes: "name:description".
std::string described(const std::string& name, const std::string& text) {
  std::string word = name + ":" + text, quoted;
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + quoted + "'";
}

std::string flag_array(const std::vector<const FlagSheet*>& flags, const std::string& indent) {
  std::string text = "flags=(\n";
  for (const FlagSheet* f : flags)
    text += fmt::format("{}  {}\n", indent, described("--" + f->name, f->brief));
  return text + indent + ")";
}

std::string zsh_flag_cases(const CommandSheet& c) {
  std::string text = fmt::format("    {})\n", c.name);
  if (c.verbs.empty())
    return text + fmt::format("      {}\n{}      ;;\n", flag_array(flags_of_verb(c, ""), "      "),
                              c.first_words.empty()
                                  ? ""
                                  : fmt::format("      firsts=({})\n", join(c.first_words, " ")));
  text += "      case $2 in\n";
  std::string verbs;
  for (const Verb& v : c.verbs) {
    verbs += " " + described(v.name, first_clause(v.summary));
    text += fmt::format("        {}) {} ;;\n", v.name,
                        flag_array(flags_of_verb(c, v.name), "        "));
  }
  return text + fmt::format("      esac\n      verbs=({} )\n      ;;\n", verbs);
}

}  // namespace

std::string zsh_completion(const std::vector<CommandSheet>& commands) {
  std::string names, flags, values, same;
  for (const CommandSheet& c : commands) {
    names += fmt::format("  {}\n", described(c.name, first_clause(c.summary)));
    if (!c.same_as.empty())
      same += fmt::format("    {}) set -- {} \"$2\" ;;\n", c.name, c.same_as);
    else
      flags += zsh_flag_cases(c), values += value_cases(c, "choices=({})");
  }
  if (!same.empty()) same = "  case $1 in\n" + same + "  esac\n";
  return fmt::format(
             "#compdef hone\n"
             "# Completion of hone for zsh, written by 'hone help --completion zsh'.\n"
             "_hone_commands=(\n{}  'help:settings of a command, or the page of an error'\n)\n"
             "_hone_help_flags=({})\n_hone_shells=({})\n\n"
             "_hone_flags() {{\n{}  case $1 in\n{}  esac\n}}\n\n"
             "_hone_value() {{\n{}  case $1 in\n{}  esac\n}}\n",
             names, join(help_flags(), " "), join(completion_shells(), " "), same, flags, same,
             values) +
         kReadZshLine;
}

}  // namespace hone

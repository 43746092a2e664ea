// Completion for bash: tables of flags and values as `case`s, and one function that reads the line.
// Reference: bash(1), Programmable Completion. "--flag=value" arrives as three words.
#include "base/core/text.h"
#include "run/manual/completion.h"
#include "run/manual/completion_shell.h"

namespace hone {
namespace {

constexpr const char* kReadLine = R"(
_hone() {
  local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} verb=${COMP_WORDS[2]}
  local flags= verbs= firsts= kind= words= list= flag= name at distance
  COMPREPLY=()
  [[ $cur == = ]] && cur=
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "$_hone_commands" -- "$cur"))
    return
  fi
  if [[ $command == help ]]; then
    command=$verb verb=${COMP_WORDS[3]}
    _hone_flags "$command" "$verb"
    ((COMP_CWORD == 2)) && words=$_hone_commands && [[ $cur == -* ]] && words=$_hone_help_flags
    ((COMP_CWORD == 3)) && words="$verbs all"
    case $command in
      --completion) words=$_hone_shells ;;
      --man) ((COMP_CWORD == 3)) && compopt -o dirnames 2>/dev/null && words= ;;
    esac
    ((COMP_CWORD < 4)) && COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  _hone_flags "$command" "$verb"
  for ((at = COMP_CWORD - 1; at > 1; --at)); do
    [[ ${COMP_WORDS[at]} == --* ]] || continue
    name=${COMP_WORDS[at]:2}
    flag=--${name//-/_}
    break
  done
  distance=$((COMP_CWORD - at))
  [[ ${COMP_WORDS[at + 1]} == = ]] && ((distance > 1)) && ((--distance))
  if [[ $flag ]]; then
    _hone_value "$command" "$flag"
    if [[ $kind && ($distance == 1 || $list) && $cur != -* ]]; then
      case $kind in
        words) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
        file)
          compopt -o filenames 2>/dev/null
          local IFS=$'\n'
          COMPREPLY=($(compgen -f -- "$cur"))
          ;;
      esac
      return
    fi
  fi
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif ((COMP_CWORD == 2)) && [[ $verbs$firsts ]]; then
    COMPREPLY=($(compgen -W "$verbs $firsts" -- "$cur"))
  else
    compopt -o filenames 2>/dev/null
    local IFS=$'\n'
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -F _hone hone
)";

std::string names_of(const std::vector<const FlagSheet*>& flags) {
  std::string names;
  for (const FlagSheet* f : flags) names += (names.empty() ? "--" : " --") + f->name;
  return names;
}

// The cases of a command in _hone_flags: by verb, if it has some.
std::string flag_cases(const CommandSheet& c) {
  std::string text = fmt::format("    {})\n", c.name);
  if (!c.verbs.empty()) {
    std::vector<std::string> verbs;
    text += "      case $2 in\n";
    for (const Verb& v : c.verbs) {
      verbs.push_back(v.name);
      text +=
          fmt::format("        {}) flags='{}' ;;\n", v.name, names_of(flags_of_verb(c, v.name)));
    }
    text += fmt::format("        *) flags='{}' ;;\n      esac\n      verbs='{}'\n",
                        names_of(flags_of_verb(c, "")), join(verbs, " "));
  } else {
    text += fmt::format("      flags='{}'\n", names_of(flags_of_verb(c, "")));
    if (!c.first_words.empty())
      text += fmt::format("      firsts='{}'\n", join(c.first_words, " "));
  }
  return text + "      ;;\n";
}

}  // namespace

std::string bash_completion(const std::vector<CommandSheet>& commands) {
  std::vector<std::string> names;
  std::string flags, values, same;
  for (const CommandSheet& c : commands) {
    names.push_back(c.name);
    if (!c.same_as.empty())
      same += fmt::format("    {}) set -- {} \"$2\" ;;\n", c.name, c.same_as);
    else
      flags += flag_cases(c), values += value_cases(c, "words='{}'");
  }
  names.emplace_back("help");
  if (!same.empty()) same = "  case $1 in\n" + same + "  esac\n";
  return fmt::format(
             "# Completion of hone for bash, written by 'hone help --completion bash'.\n"
             "_hone_commands='{}'\n_hone_help_flags='{}'\n_hone_shells='{}'\n\n"
             "# flags and verbs of a command; of its verb, if there is one\n"
             "_hone_flags() {{\n{}  case $1 in\n{}  esac\n}}\n\n"
             "# kind of a flag's value (words, file, other; none of a switch), words, list\n"
             "_hone_value() {{\n{}  case $1 in\n{}  esac\n}}\n",
             join(names, " "), join(help_flags(), " "), join(completion_shells(), " "), same, flags,
             same, values) +
         kReadLine;
}

}  // namespace hone

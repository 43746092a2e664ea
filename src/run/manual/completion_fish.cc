// Completion for fish: a line for each command, verb and flag.
// Reference: fish's complete(1).
#include <map>

#include "base/core/text.h"
#include "run/manual/completion.h"
#include "run/manual/completion_shell.h"

namespace hone {
namespace {

std::string fish_quoted(const std::string& text) {
  std::string quoted;
  for (const char c : text) quoted += (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c);
  return "'" + quoted + "'";
}

std::string seen(const std::vector<std::string>& words) {
  return "__fish_seen_subcommand_from " + join(words, " ");
}

std::string value_options(const FlagSheet& f) {
  switch (f.value) {
    case FlagValue::kNone:
      return "";
    case FlagValue::kWords:
      return " -x -a " + fish_quoted(join(f.words, " "));
    case FlagValue::kFile:
      return " -r -F";
    case FlagValue::kOther:
      return " -x";
  }
  return "";
}

std::string verb_lines(const CommandSheet& c) {
  std::vector<std::string> names;
  for (const Verb& v : c.verbs) names.push_back(v.name);
  std::string text;
  for (const Verb& v : c.verbs)
    text += fmt::format("complete -c hone -n {} -f -a {} -d {}\n",
                        fish_quoted(fmt::format("{}; and not {}", seen({c.name}), seen(names))),
                        v.name, fish_quoted(first_clause(v.summary)));
  if (!c.first_words.empty())
    text +=
        fmt::format("complete -c hone -n {} -f -a {}\n",
                    fish_quoted(fmt::format("{}; and not {}", seen({c.name}), seen(c.first_words))),
                    fish_quoted(join(c.first_words, " ")));
  return text;
}

// The flags of hone help, and the shells of its --completion.
std::string help_lines() {
  std::string text;
  for (const std::string& flag : help_flags())
    text +=
        fmt::format("complete -c hone -n {} -l {}{}\n", fish_quoted(seen({"help"})), flag.substr(2),
                    flag == "--completion" ? " -x -a " + fish_quoted(join(completion_shells(), " "))
                    : flag == "--man"      ? " -r -F"
                                           : "");
  return text;
}

}  // namespace

std::string fish_completion(const std::vector<CommandSheet>& commands) {
  std::string text =
      "# Completion of hone for fish, written by 'hone help --completion fish'.\n"
      "complete -c hone -n __fish_use_subcommand -f\n"
      "complete -c hone -n __fish_use_subcommand -a help -d "
      "'settings of a command, or the page of an error'\n";
  std::string names, verbs;
  // Flags that several commands have are one line.
  std::map<std::string, std::vector<std::string>> commands_of_flag;
  for (const CommandSheet& c : commands) {
    names += fmt::format("complete -c hone -n __fish_use_subcommand -a {} -d {}\n", c.name,
                         fish_quoted(first_clause(c.summary)));
    verbs += verb_lines(c);
    const CommandSheet* own = &c;
    for (const CommandSheet& other : commands)
      if (other.name == c.same_as) own = &other;
    for (const FlagSheet* f : flags_of_verb(*own, "")) {
      const std::string line =
          fmt::format("-l {}{} -d {}", f->name, value_options(*f), fish_quoted(f->brief));
      commands_of_flag[f->verbs.empty() ? line : seen(f->verbs) + "'\t" + line].push_back(c.name);
    }
  }
  text += names + verbs + help_lines();
  for (const auto& [key, of] : commands_of_flag) {
    const size_t tab = key.find('\t');
    const std::string condition = tab == std::string::npos ? "'" : "; and " + key.substr(0, tab);
    text += fmt::format("complete -c hone -n '{}{} {}\n", seen(of), condition,
                        tab == std::string::npos ? key : key.substr(tab + 1));
  }
  return text;
}

}  // namespace hone

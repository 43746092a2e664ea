#include "run/manual/completion.h"

#include "run/manual/completion_shell.h"

namespace hone {
namespace {

struct ShellScript {
  const char* name;
  std::string (*write)(const std::vector<CommandSheet>&);
};
constexpr ShellScript kShells[] = {
    {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};

}  // namespace

std::vector<std::string> completion_shells() {
  std::vector<std::string> names;
  for (const ShellScript& s : kShells) names.emplace_back(s.name);
  return names;
}

std::vector<std::string> help_flags() {
  return {"--markdown", "--families", "--completion", "--man"};
}

std::string completion_script(const std::string& shell, const std::vector<CommandSheet>& commands) {
  for (const ShellScript& s : kShells)
    if (shell == s.name) return s.write(commands);
  throw_bug(__FILE__, __LINE__, "no completion for " + shell);
}

}  // namespace hone

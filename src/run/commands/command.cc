#include "run/commands/command.h"

#include <unistd.h>

#include <cerrno>

#include "base/core/log.h"

namespace hone {

namespace {

// Headings of a page that becomes a part of another.
std::string one_level_down(const std::string& markdown) {
  std::string out = markdown.starts_with('#') ? "#" : "";
  for (size_t i = 0; i < markdown.size(); ++i) {
    out += markdown[i];
    if (markdown[i] == '\n' && i + 1 < markdown.size() && markdown[i + 1] == '#') out += '#';
  }
  return out;
}

}  // namespace

Result<int> run_command_named(const std::string& name, const std::vector<std::string>& args) {
  for (const Command& c : all_command()) {
    if (c.name == name) return c.run(args);
  }
  throw_bug(__FILE__, __LINE__, "no command '" + name + "' on the shelf");
}

Result<Parsed> parse_settings(Schema& schema, const std::vector<std::string>& args,
                              const std::function<Status()>& check) {
  Parsed parsed;
  if (args.size() == 1 && args[0] == kMarkdownFlag) {
    print_out(one_level_down(schema.reference()));
    parsed.done = true;
    return parsed;
  }
  parsed.outcome = HONE_TRY(schema.parse(args, environment_settings()));
  if (check && !parsed.outcome.help) HONE_TRY(check());
  if (parsed.outcome.help) {
    print_out(schema.help() + "\n");
    parsed.done = true;
  } else if (parsed.outcome.dump_config) {
    print_out(dump_json(schema.dump(), {.indent = 2}) + "\n");
    parsed.done = true;
  }
  if (!parsed.done) {
    for (const std::string& notice : parsed.outcome.notices) log_info("{}", notice);
  }
  return parsed;
}

void print_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      throw OutputClosed{errno};
    }
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace hone

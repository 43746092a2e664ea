#include "run/commands/command.h"

#include "base/core/log.h"
#include "run/commands/screen.h"

namespace hone {

namespace {

CommandSheet* sheet_to_fill = nullptr;

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

bool asks_for_sheet(const std::vector<std::string>& args) {
  return !args.empty() && args[0] == kSheetFlag;
}

CommandSheet& asked_sheet() {
  HONE_BUG_IF(sheet_to_fill == nullptr, "{} comes from sheet_of() alone", kSheetFlag);
  return *sheet_to_fill;
}

Result<CommandSheet> sheet_of(const Command& command) {
  CommandSheet sheet{.name = command.name, .summary = command.summary};
  sheet_to_fill = &sheet;
  const Result<int> filled = command.run({kSheetFlag});
  sheet_to_fill = nullptr;
  if (!filled.ok()) return filled.error();
  return sheet;
}

Result<Parsed> parse_settings(Schema& schema, const std::vector<std::string>& args,
                              const std::function<Status()>& check) {
  Parsed parsed;
  if (asks_for_sheet(args)) {
    add_flags(asked_sheet(), schema, "");
    parsed.done = true;
    return parsed;
  }
  if (args.size() == 1 && args[0] == kMarkdownFlag) {
    print_out(one_level_down(schema.reference()));
    parsed.done = true;
    return parsed;
  }
  parsed.outcome = HONE_TRY(schema.parse(args, environment_settings()));
  if (check && !parsed.outcome.help) HONE_TRY(check());
  if (parsed.outcome.help) {
    print_out(schema.help(
        {.width = screen_width(), .all = parsed.outcome.help_all, .verb = parsed.outcome.verb}));
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

}  // namespace hone

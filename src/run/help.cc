#include "run/help.h"

#include "base/core/text.h"
#include "base/settings/columns.h"
#include "base/store/store.h"
#include "learn/models/gguf_layout.h"
#include "run/commands/error_pages.h"
#include "run/commands/errors.h"
#include "run/commands/metric_table.h"
#include "run/commands/model_table.h"
#include "run/commands/screen.h"
#include "run/manual/completion.h"
#include "run/manual/man_pages.h"

namespace hone {
namespace {

// The titles of CommandGroup, in its order.
constexpr const char* kGroupTitles[] = {"Train", "Use", "Inspect", "Operate",
                                        "Command lines of other programs"};

constexpr size_t kNameColumn = 21;  // after the longest name

std::string title_of(const Command& c) { return kGroupTitles[static_cast<size_t>(c.in.group)]; }

std::vector<Command> by_name(std::vector<Command> commands) {
  std::sort(commands.begin(), commands.end(),
            [](const Command& a, const Command& b) { return a.name < b.name; });
  return commands;
}

std::vector<Command> by_group(std::vector<Command> commands) {
  commands = by_name(std::move(commands));
  std::stable_sort(commands.begin(), commands.end(),
                   [](const Command& a, const Command& b) { return a.in.group < b.in.group; });
  return commands;
}

// The reference of every command in Markdown: docs/commands.md.
Result<int> markdown(const std::vector<Command>& commands) {
  print_out(
      "# Commands\n\nWritten by `hone help --markdown`; each command prints the same with "
      "`--help all`.\n");
  for (const Command& c : by_name(commands)) {
    print_out("\n");
    HONE_TRY(c.run({kMarkdownFlag}));
  }
  return kExitDone;
}

bool is_error_code(const std::string& word) {
  return word.size() == 5 && (word[0] == 'H' || word[0] == 'h') &&
         word.find_first_not_of("0123456789", 1) == word.npos;
}

// hone help models: not the command, whose help is hone models --help, or with a verb.
bool is_about_models(const std::vector<std::string>& words) {
  return !words.empty() && words[0] == "models" && (words.size() == 1 || words[1] == "--markdown");
}

bool is_about_metrics(const std::vector<std::string>& words) {
  return !words.empty() && words[0] == "metrics";
}

// The page of an error: hone help H2406.
Result<int> explain(const std::string& code) {
  for (const ErrorPage& page : error_pages())
    if (page.code == code) {
      print_out(page.text);
      return kExitDone;
    }
  return Error(err::kUnknownCommand, fmt::format("hone has no error {}", code))
      .todo("docs/errors has a page for each");
}

Result<std::vector<CommandSheet>> sheets_of(const std::vector<Command>& commands) {
  std::vector<CommandSheet> sheets;
  for (const Command& c : by_group(commands)) {
    CommandSheet sheet = HONE_TRY(sheet_of(c));
    sheet.group = title_of(c);
    sheet.own_page = c.in.group != CommandGroup::kOtherPrograms;
    sheets.push_back(std::move(sheet));
  }
  return sheets;
}

Result<int> print_completion(const std::vector<Command>& commands, const std::string& shell) {
  const std::vector<std::string> shells = completion_shells();
  if (std::find(shells.begin(), shells.end(), shell) == shells.end())
    return Error(err::kMissingArgument, shell.empty()
                                            ? "'hone help --completion' needs a shell"
                                            : fmt::format("there is no completion for '{}'", shell))
        .todo("hone help --completion " + join(shells, "|"));
  print_out(completion_script(shell, HONE_TRY(sheets_of(commands))));
  return kExitDone;
}

Result<int> write_man_pages(const std::vector<Command>& commands, const std::string& folder) {
  if (folder.empty())
    return Error(err::kMissingArgument, "'hone help --man' needs a folder")
        .todo("hone help --man FOLDER");
  HONE_TRY(file_store().make_dirs(folder));
  for (const auto& [name, text] : man_pages(HONE_TRY(sheets_of(commands)), std::string(version())))
    HONE_TRY(file_store().write(without_end_slash(folder) + "/" + name, text));
  return kExitDone;
}

// One line for each type of models: its value of model_type, its family, its heads, and its
// architecture in GGUF files.
int print_families() {
  for (const Family& family : families())
    for (const ModelType& type : family.model_types) {
      std::vector<std::string> heads;
      for (const HeadOffer& offer : family.heads) heads.push_back(name_of(offer.head));
      print_out(fmt::format("{:<18} {:<12} {:<12} {}\n", type.name, family.name,
                            type.gguf != nullptr ? type.gguf->architecture : "-",
                            join(heads, ", ")));
    }
  return kExitDone;
}

}  // namespace

std::string overview(std::vector<Command> commands) {
  const auto width = static_cast<size_t>(screen_width());
  std::string text =
      "hone: fine-tunes Hugging Face models\n\nusage: hone COMMAND [VERB] [--setting value ...] "
      "[settings.yaml]\n";
  std::string title;
  for (const Command& c : by_group(std::move(commands))) {
    if (title_of(c) != title) text += "\n" + title_of(c) + "\n";
    title = title_of(c);
    text += two_columns("  " + c.name, c.summary, kNameColumn, width);
  }
  text += "\nHelp\n";
  for (const auto& [words, what] :
       {std::pair{"  help COMMAND", "the settings of a command"},
        std::pair{"  help COMMAND VERB", "the settings of one of its verbs"},
        std::pair{"  help models", "model types with their heads, tasks and files"},
        std::pair{"  help metrics", "the metrics of each task, by which models are compared"},
        std::pair{"  help H2406", "the page of an error"},
        std::pair{"  help --families", "the model types that hone has"},
        std::pair{"  help --completion", "completion for a shell: bash, zsh or fish"},
        std::pair{"  help --man FOLDER", "manual pages"}})
    text += two_columns(words, what, kNameColumn, width);
  return text + "\n" +
         two_columns("Exit status",
                     "0 done, 1 something to correct (the message says what), 2 usage, 3 a bug in "
                     "hone",
                     13, width);
}

bool is_help_flag(const std::string& word) { return std::ranges::count(help_flags(), word) > 0; }

Status check_topic(const Command& c, const std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with('-')) return Ok{};
  const CommandSheet sheet = HONE_TRY(sheet_of(c));
  std::vector<std::string> known = sheet.first_words;
  for (const Verb& v : sheet.verbs) known.push_back(v.name);
  for (size_t i = 0; i < words.size() && !words[i].starts_with('-'); ++i) {
    const std::string& word = words[i];
    if (word == "all" || (i == 0 && std::ranges::count(known, word) > 0)) continue;
    const std::string near = i == 0 ? nearest_name(word, known) : "";
    return Error(err::kUnknownCommand,
                 fmt::format("hone help has no topic '{}'", join({c.name, word}, " ")))
        .todo(near.empty() ? fmt::format("'hone help {}' and 'hone help {} all' show the settings",
                                         c.name, c.name)
                           : fmt::format("did you mean 'hone help {} {}'?", c.name, near));
  }
  return Ok{};
}

bool is_about_command(const std::vector<std::string>& words) {
  return !words.empty() && !words[0].starts_with("--") && !is_error_code(words[0]) &&
         !is_about_models(words) && !is_about_metrics(words);
}

Result<int> help_without_command(const std::vector<Command>& commands,
                                 const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help") {
    print_out(overview(commands));
    return kExitDone;
  }
  if (is_about_models(words)) {
    print_out(model_table(words.size() > 1));
    return kExitDone;
  }
  if (is_about_metrics(words)) {
    if (words.size() > 1)
      return Error(err::kUnknownCommand,
                   fmt::format("the help topic 'metrics' takes no second word, and '{}' is one",
                               words[1]))
          .todo("'hone help metrics' has the metrics of all tasks");
    print_out(metric_table());
    return kExitDone;
  }
  if (is_error_code(words[0])) return explain("H" + words[0].substr(1));
  const std::string value = words.size() > 1 ? words[1] : "";
  if (words[0] == "--markdown") return markdown(commands);
  if (words[0] == "--families") return print_families();
  if (words[0] == "--completion") return print_completion(commands, value);
  if (words[0] == "--man") return write_man_pages(commands, value);
  return Error(err::kUnknownCommand, fmt::format("hone help has no setting '{}'", words[0]))
      .todo("'hone help' lists the commands");
}

}  // namespace hone

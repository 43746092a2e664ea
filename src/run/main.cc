// The program: finds the command, runs it, and turns whatever comes out into text and a status.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/core/error_report.h"
#include "base/core/log.h"
#include "base/core/log_wrap.h"
#include "base/core/redact.h"
#include "base/core/text.h"
#include "base/store/places/places.h"
#include "run/color_flag.h"
#include "run/commands/command.h"
#include "run/commands/error_pages.h"
#include "run/commands/errors.h"
#include "run/help.h"

namespace hone {
namespace {

const Command* find_command(const std::vector<Command>& all, const std::string& word) {
  for (const Command& c : all) {
    if (c.name == word) return &c;
    for (const std::string& alias : c.aliases) {
      if (alias == word) return &c;
    }
  }
  return nullptr;
}

// Names have underscores.
std::string underscored_name(std::string word) {
  std::replace(word.begin(), word.end(), '-', '_');
  return word;
}

// A flag of hone help without its dashes, or without help: "help --completion bash"; "" if it is not one.
std::string help_of(const std::string& name, const std::vector<std::string>& rest) {
  const std::string flag = "--" + name;
  if (!is_help_flag(flag)) return "";
  return "help " + flag + (rest.size() == 1 && !rest[0].starts_with('-') ? " " + rest[0] : "");
}

// `word`: as typed. `is_topic`: of hone help. `rest`: the words after it.
Error unknown_command(const std::vector<Command>& all, const std::string& word,
                      const std::vector<std::string>& rest, bool is_topic) {
  std::vector<std::string> names = {"help"};
  for (const Command& c : all) {
    names.push_back(c.name);
    names.insert(names.end(), c.aliases.begin(), c.aliases.end());
  }
  // A flag may be a command's name, or belong to help.
  const size_t dashes = std::min(word.find_first_not_of('-'), word.size());
  std::string near = is_topic ? "" : help_of(word.substr(dashes), rest);
  if (near.empty()) near = nearest_name(underscored_name(word.substr(dashes)), names);
  const char* begin = is_topic ? "hone help" : "hone";
  return Error(err::kUnknownCommand,
               fmt::format("{} has no {} '{}'", begin, is_topic ? "topic" : "command", word))
      .todo((near.empty() ? std::string() : fmt::format("did you mean '{} {}'? ", begin, near)) +
            (is_topic
                 ? "topics are commands, their verbs and the codes of errors: 'hone help' lists "
                   "them; 'hone train --task TASK --help' describes a task, and docs/ the rest"
                 : "'hone help' lists them all"));
}

Result<int> dispatch(std::vector<std::string> args) {
  HONE_TRY(take_color(args));
  const std::vector<Command> all = all_command();
  if (args.empty()) {
    print_out(overview(all));
    return kExitUsage;
  }
  std::string word = args[0];
  args.erase(args.begin());
  if (word == "--version" || word == "-V" || word == "version") {
    print_out(fmt::format("hone {}\n", version()));
    return kExitDone;
  }
  const bool is_topic = word == "help" || word == "--help" || word == "-h";
  if (is_topic) {
    if (!is_about_command(args)) return help_without_command(all, args);
    word = args[0];
    args[0] = "--help";  // a verb or `all` follows
  }
  const Command* command = find_command(all, underscored_name(word));
  if (command == nullptr)
    return unknown_command(all, word, {args.begin() + (is_topic ? 1 : 0), args.end()}, is_topic);
  if (is_topic) HONE_TRY(check_topic(*command, {args.begin() + 1, args.end()}));
  return command->run(args);
}

int report(const Error& e) {
  report_error(e);
  const std::string text = redact_text(e.text());
  if (log_format() == LogFormat::kJson) {
    log_error("{}", text);
  } else {
    const std::string shown = wrap_error(text, terminal_columns());
    if (log_in_color())
      fmt::print(stderr, "\033[31m{}\033[0m\n", shown);
    else
      fmt::print(stderr, "{}\n", shown);
  }
  const bool usage = std::string_view(e.code()).starts_with("H02") || e.is(err::kUnknownCommand);
  return usage ? kExitUsage : kExitUserError;
}

int report_bug(const std::vector<std::string>& args, const char* what) {
  fmt::print(stderr,
             "this is a bug in hone, not a mistake of yours: {}\n"
             "  please report the line above, hone {}, and the command: hone {}\n"
             "  with what 'hone doctor' prints\n",
             what, version(), redact_text(join(args, " ")));
  return kExitBug;
}

int run(const std::vector<std::string>& args) {
  Places places;
  const FileStoreInstead everywhere(places);
  try {
    Result<int> status = dispatch(args);
    if (std::fflush(stdout) != 0) throw OutputClosed{errno};
    return status.ok() ? *status : report(status.error());
  } catch (const OutputClosed& closed) {
    if (closed.reason == EPIPE) return kExitDone;
    return report(Error(err::kOutputLost, fmt::format("cannot write to standard output: {}",
                                                      std::strerror(closed.reason)))
                      .todo("check the disk or program that it goes to"));
  } catch (const std::bad_alloc&) {
    return report_bug(args, "memory ran out outside the planned arena");
  } catch (const std::exception& e) {
    return report_bug(args, e.what());
  }
}

}  // namespace
}  // namespace hone

// Everybody on the machine can read the words of a process: secrets are covered there.
static void cover_secrets(char** words) {
  for (char** w = words; *w != nullptr; ++w) {
    const std::string_view word = *w;
    if (!word.starts_with("--")) continue;
    const size_t is = word.find('=');
    if (!hone::names_a_secret(std::string(word.substr(2, is - 2)))) continue;
    char* value = is != word.npos ? *w + is + 1 : w[1];
    if (value != nullptr) std::fill(value, value + std::strlen(value), '*');
  }
}

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows past a limit is an error of its writer
  hone::take_error_descriptor();
  std::vector<std::string> words(argv + 1, argv + argc);
  cover_secrets(argv + 1);
  return hone::run(std::move(words));
}

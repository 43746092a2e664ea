#include "run/commands/launcher.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/core/log.h"
#include "base/core/text.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/launch_ranks.h"
#include "run/commands/launcher_config.h"
#include "run/commands/launcher_ranks.h"

namespace hone {
namespace {

constexpr const char* kModule = "trainer.task";  // the one module

// The commands that are called as scripts, by the names of these.
std::vector<std::pair<std::string, std::string>> scripts() {
  std::vector<std::pair<std::string, std::string>> known;
  for (const Command& c : all_command())
    for (const std::string& alias : c.aliases)
      if (alias.ends_with(".py")) known.emplace_back(alias, c.name);
  std::sort(known.begin(), known.end());
  return known;
}

std::vector<std::string> script_names() {
  std::vector<std::string> names;
  for (const auto& [script, command] : scripts()) names.push_back(script);
  return names;
}

std::string usage(const Launcher& l) {
  return fmt::format("usage: hone {} [{}] SCRIPT [the script's flags], SCRIPT one of {}, or -m {}",
                     l.name, l.example, join(script_names(), ", "), kModule);
}

struct Line {
  size_t at = 0;  // of the script, or of the module's name
  bool module = false;
  std::vector<std::string> flags = {};  // for the script, in place of the launcher's
  std::vector<RankFlag> ranks = {};
  std::set<std::string> given = {};  // names of the launcher's flags
  std::string config = {};           // file with values of flags that are not given
};

// Takes the launcher's flag at args[line.at]; one without effect is named in a line.
Status take_flag(const Launcher& l, const std::vector<std::string>& args, Line& line) {
  const std::string& word = args[line.at];
  std::string name = word.substr(word.starts_with("--") ? 2 : 1);
  const size_t equals = name.find('=');
  std::string value = equals == std::string::npos ? "" : name.substr(equals + 1);
  name = name.substr(0, equals);
  std::replace(name.begin(), name.end(), '-', '_');
  if (const auto it = l.letters.find(name); it != l.letters.end()) name = it->second;
  if (name == "m" || name == "module") {
    line.module = true;
    ++line.at;
    return Ok{};
  }
  std::vector<std::string> names;
  for (const LauncherFlag& f : l.flags) {
    names.push_back("--" + f.name);
    if (f.name != name) continue;
    line.given.insert(name);
    const bool next = f.takes_value && equals == std::string::npos && line.at + 1 < args.size();
    if (next) value = args[line.at + 1];
    line.at += next ? 2 : 1;
    if (name == l.config_flag) {
      line.config = value;
      return Ok{};
    }
    if (const auto meaning = l.meanings.find(name); meaning != l.meanings.end()) {
      if (const auto any = meaning->second.find(""); any != meaning->second.end()) {
        line.flags.push_back(any->second + value);
        return Ok{};
      }
      const auto flag = meaning->second.find(value);
      if (flag == meaning->second.end())
        return Error(err::kUnknownScript,
                     fmt::format("hone cannot do '{}{}'", word, next ? " " + value : ""))
            .todo("leave the flag out");
      if (!flag->second.empty()) line.flags.push_back(flag->second);
      return Ok{};
    }
    if (const auto meaning = l.ranks.find(name); meaning != l.ranks.end())
      line.ranks.push_back({"--" + name, meaning->second, value});
    else
      log_info("{}{}: has no effect", word, next ? " " + value : "");
    return Ok{};
  }
  const std::string near = nearest_name("--" + name, names);
  return Error(err::kUnknownScript, fmt::format("the {} launcher has no flag '{}'", l.name, word))
      .todo(near.empty() ? usage(l) + "; the script's own flags come after it"
                         : fmt::format("did you mean {}?", near));
}

// Flags of the launcher's file, unless they are given.
Status take_config(const Launcher& l, Line& line) {
  if (line.config.empty()) return Ok{};
  log_info("{:<11} {}", "launcher", line.config);
  for (const auto& entry : HONE_TRY(read_launcher_config(line.config))) {
    const std::string &name = entry.first, &value = entry.second;
    const bool has_effect = l.meanings.contains(name) || l.ranks.contains(name);
    const auto flag = std::find_if(l.flags.begin(), l.flags.end(),
                                   [&](const LauncherFlag& f) { return f.name == name; });
    if (!has_effect || flag == l.flags.end() || line.given.contains(name)) continue;
    if (!flag->takes_value && to_lower(value) != "true") continue;
    Line one;
    if (Status taken = take_flag(l, {"--" + name + (flag->takes_value ? "=" + value : "")}, one);
        !taken.ok())
      return std::move(taken.error().at(line.config));
    line.flags.insert(line.flags.end(), one.flags.begin(), one.flags.end());
    line.ranks.insert(line.ranks.begin(), one.ranks.begin(), one.ranks.end());
  }
  return Ok{};
}

// Processes on TPUs are ranks of one process, which has all of the machine's TPUs.
void take_tpus(Line& line) {
  if (!line.given.contains("tpu")) return;
  std::erase_if(line.ranks, [&](const RankFlag& r) {
    if (r.meaning == "num_processes") line.flags.push_back("--tpu_num_cores=" + r.value);
    return r.meaning == "num_processes";
  });
}

bool names_device(const std::vector<std::string>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](const std::string& flag) {
    const std::string name = flag.substr(0, flag.find('='));
    return name == "--device" || name == "--use_cpu" || name == "--no_cuda";
  });
}

}  // namespace

Result<int> run_launcher(const Launcher& l, const std::vector<std::string>& args) {
  if (args.size() == 1 && args[0] == kMarkdownFlag) {
    print_out(fmt::format("## hone {}\n\n{}\n", l.name, usage(l)));
    return kExitDone;
  }
  if (asks_for_sheet(args)) {
    for (const LauncherFlag& f : l.flags)
      asked_sheet().flags.push_back(
          {.name = f.name,
           .form = "--" + f.name + (f.takes_value ? " VALUE" : ""),
           .value = f.takes_value ? FlagValue::kOther : FlagValue::kNone});
    return kExitDone;
  }
  if (args.size() == 1 && (args[0] == "--help" || args[0] == "-h")) {
    print_out(usage(l) + "\n");
    return kExitDone;
  }
  Line line{.config = l.usual_config};
  while (line.at < args.size() && args[line.at].starts_with("-"))
    HONE_TRY(take_flag(l, args, line));
  HONE_TRY(take_config(l, line));
  take_tpus(line);
  if (line.at == args.size())
    return Error(err::kUnknownScript, fmt::format("{} is given no script", l.name)).todo(usage(l));
  const std::string& word = args[line.at];
  std::vector<std::string> flags(args.begin() + static_cast<int64_t>(line.at) + 1, args.end());
  flags.insert(flags.end(), line.flags.begin(), line.flags.end());
  const auto on_a_gpu = [&] {  // if there is one, as these launchers choose
    if (!names_device(flags)) flags.push_back("--device=auto");
    return flags;
  };
  const auto run_ranks = [&](const std::string& command) -> Result<int> {
    std::vector<std::string> words = on_a_gpu();
    words.insert(words.begin(), command);
    return launch_ranks(HONE_TRY(ranks_of_flags(line.ranks, l.usual_hostfile)), words);
  };
  if (line.module && word == kModule) return run_ranks(kModule);
  const std::string script =
      line.module ? word + ".py" : std::filesystem::path(word).filename().string();
  std::vector<std::string> names = script_names();
  for (const auto& [name, command] : scripts())
    if (name == script)
      return name.starts_with("run_") ? run_ranks(command) : run_command_named(command, flags);
  const std::string near = nearest_name(script, names);
  return Error(err::kUnknownScript,
               fmt::format("hone has nothing in place of the script '{}'", word))
      .todo((near.empty() ? std::string() : fmt::format("did you mean {}? ", near)) +
            fmt::format("these work: {}", join(names, ", ")));
}

}  // namespace hone

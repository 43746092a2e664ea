// hone deepspeed [launcher flags] run_clm.py ...: the launcher's line as recipes print it. The
// script names the command; what the launcher would start on other machines has no meaning here.
#include <filesystem>

#include "base/core/log.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

struct LauncherFlag {
  std::string name;
  bool takes_value = true;
};

const std::vector<LauncherFlag>& launcher_flags() {
  static const std::vector<LauncherFlag> flags = {{"num_gpus"},
                                                  {"num_nodes"},
                                                  {"num_accelerators"},
                                                  {"hostfile"},
                                                  {"include"},
                                                  {"exclude"},
                                                  {"master_addr"},
                                                  {"master_port"},
                                                  {"launcher"},
                                                  {"launcher_args"},
                                                  {"node_rank"},
                                                  {"min_elastic_nodes"},
                                                  {"max_elastic_nodes"},
                                                  {"autotuning"},
                                                  {"bind_core_list"},
                                                  {"save_pid", false},
                                                  {"no_local_rank", false},
                                                  {"no_python", false},
                                                  {"module", false},
                                                  {"force_multi", false},
                                                  {"elastic_training", false},
                                                  {"enable_each_rank_log"},
                                                  {"bind_cores_to_rank", false}};
  return flags;
}

// Scripts of Transformers and the commands they mean.
const std::vector<std::pair<std::string, std::string>>& scripts() {
  static const std::vector<std::pair<std::string, std::string>> known = {
      {"run_clm.py", "run_clm"}, {"run_generation.py", "run_generation"}};
  return known;
}

std::string usage() {
  std::vector<std::string> names;
  for (const auto& [script, command] : scripts()) names.push_back(script);
  return fmt::format(
      "usage: hone deepspeed [--num_gpus N] SCRIPT [the script's flags], SCRIPT one of {}",
      fmt::join(names, ", "));
}

// The place after the launcher flag at args[i]; each is named in a line.
Result<size_t> skip_flag(const std::vector<std::string>& args, size_t i) {
  std::string name = args[i].substr(args[i].starts_with("--") ? 2 : 1);
  const bool joined = name.find('=') != std::string::npos;
  name = name.substr(0, name.find('='));
  std::replace(name.begin(), name.end(), '-', '_');
  const std::map<std::string, std::string> letters = {
      {"H", "hostfile"}, {"i", "include"}, {"e", "exclude"}};
  if (const auto it = letters.find(name); it != letters.end()) name = it->second;
  std::vector<std::string> names;
  for (const LauncherFlag& f : launcher_flags()) {
    names.push_back("--" + f.name);
    if (f.name != name) continue;
    const bool next = f.takes_value && !joined && i + 1 < args.size();
    log_info("{}{}: has no effect, one process trains on this machine's CPU", args[i],
             next ? " " + args[i + 1] : "");
    return i + (next ? 2 : 1);
  }
  const std::string near = nearest_name("--" + name, names);
  return Error(err::kUnknownScript, fmt::format("the deepspeed launcher has no flag '{}'", args[i]))
      .todo(near.empty() ? usage() + "; the script's own flags follow it"
                         : fmt::format("did you mean {}?", near));
}

Result<int> run_deepspeed(const std::vector<std::string>& args) {
  if (args.size() == 1 && args[0] == kMarkdownFlag) {
    print_out("## hone deepspeed\n\n" + usage() + "\n");
    return kExitDone;
  }
  if (args.size() == 1 && (args[0] == "--help" || args[0] == "-h")) {
    print_out(usage() + "\n");
    return kExitDone;
  }
  size_t i = 0;
  while (i < args.size() && args[i].starts_with("-")) i = HONE_TRY(skip_flag(args, i));
  if (i == args.size())
    return Error(err::kUnknownScript, "deepspeed is given no script").todo(usage());
  const std::string script = std::filesystem::path(args[i]).filename().string();
  std::vector<std::string> names;
  for (const auto& [name, command] : scripts()) {
    names.push_back(name);
    if (name == script)
      return run_command_named(command, {args.begin() + static_cast<int64_t>(i) + 1, args.end()});
  }
  const std::string near = nearest_name(script, names);
  return Error(err::kUnknownScript,
               fmt::format("hone has nothing in place of the script '{}'", args[i]))
      .todo((near.empty() ? std::string() : fmt::format("did you mean {}? ", near)) +
            fmt::format("these work: {}", fmt::join(names, ", ")));
}

}  // namespace

Command command_deepspeed() {
  return {.name = "deepspeed",
          .summary = "run a deepspeed command line: hone deepspeed [--num_gpus N] run_clm.py ...",
          .run = run_deepspeed};
}

}  // namespace hone

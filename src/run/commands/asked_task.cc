#include "run/commands/asked_task.h"

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/settings/errors.h"
#include "learn/pretrained/trained_task.h"

namespace hone {
namespace {

// The last value of a flag and its place; "": not given. A flag's value cannot begin with "--", so every such word is a flag.
std::pair<size_t, std::string> last_value(const std::vector<std::string>& args,
                                          const std::string& name) {
  std::pair<size_t, std::string> found;
  for (size_t i = 0; i < args.size() && args[i] != "--"; ++i) {
    if (args[i].starts_with("--" + name + "=")) found = {i, args[i].substr(name.size() + 3)};
    if (args[i] == "--" + name && i + 1 < args.size() && !args[i + 1].starts_with("--"))
      found = {i, args[i + 1]};
  }
  return found;
}

}  // namespace

AskedTask named_by_flags(const std::vector<std::string>& args) {
  AskedTask named;
  size_t last = 0;
  for (const std::string flag : {"task", "preset"})
    if (const auto [at, value] = last_value(args, flag); !value.empty() && at >= last) {
      last = at;
      named = {flag, value};
    }
  return named;
}

Result<std::string> task_of_model(const std::vector<std::string>& args) {
  for (const char* name : {"adapter_name_or_path", "model_name_or_path"}) {
    const std::string folder = last_value(args, name).second;
    if (folder.empty()) continue;
    const TrainedTask trained = HONE_TRY(read_trained_task(folder));
    if (trained.task.empty()) continue;
    log_info("{:<11} {} (from {}/{})", "task", trained.task, folder, kTrainedTaskFile);
    return trained.task;
  }
  return std::string();
}

std::vector<std::string> misspelt_task(const std::vector<std::string>& args) {
  for (const std::string& arg : args)
    if (arg.starts_with("--") &&
        nearest_name(arg.substr(2, arg.find('=') - 2), {"task", "preset"}) != "")
      return {arg};
  return {};
}

Error without_task(const Schema& schema, const std::string& about,
                   const std::vector<std::string>& args) {
  if (Status stray = schema.check_arguments(args); !stray.ok()) return std::move(stray.error());
  return Error(err::kSettingRequired, fmt::format("{} needs --task: {}", schema.command(), about))
      .todo(fmt::format("name one of {}; '{} --help' describes them",
                        join(schema.at("task").words(), ", "), schema.command()));
}

}  // namespace hone

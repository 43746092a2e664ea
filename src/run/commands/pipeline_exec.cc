#include "run/commands/pipeline_exec.h"

#include <signal.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/error_report.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/pipeline/child.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/run_record.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"

namespace hone {

Result<int> exec_command(std::vector<std::string> command, const std::vector<std::string>& folders,
                         const std::vector<std::string>& writes, const std::string& hone_program) {
  if (command.empty())
    return Error(err::kMissingArgument, "'hone pipeline exec' needs a command")
        .todo("write hone pipeline exec --write version=FILE -- hone models register ...");
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& w : writes) {
    const size_t at = w.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == w.size())
      return Error(err::kMissingArgument, fmt::format("'{}' does not name a member and a file", w))
          .at("--write")
          .todo("write member=FILE");
    files.emplace_back(w.substr(0, at), w.substr(at + 1));
  }
  for (const std::string& folder : folders) HONE_TRY(file_store().make_dirs(folder));
  if (command[0] == "hone") command[0] = hone_program;
  install_stop_handlers();
  std::string out = environment("TMPDIR").empty() ? "/tmp" : environment("TMPDIR");
  out += fmt::format("/hone_exec_{}_{}", ::getpid(), start_of_process(::getpid()));
  const Child child = HONE_TRY(start_child({.command = command,
                                            .environment = {},
                                            .out_file = out,
                                            .log_file = "",
                                            .token = "exec",
                                            .death_signal = SIGKILL},
                                           [](pid_t) -> Status { return Ok{}; }));
  std::optional<ChildEnd> end;
  for (int sent = 0; !(end = child_ended(child.pid));) {
    if (stop_requested() && sent != stop_signal()) {
      sent = stop_signal();
      signal_group(child.pid, sent);
    }
    system_clock().sleep(0.02);
  }
  if (const auto error = child.error(); error && end->status != 0) report_error(*error);
  const auto text = read_file(out);
  ::unlink(out.c_str());
  const std::string printed = HONE_TRY(text);
  print_out(printed);
  if (end->status != 0) return end->status;
  const OrderedJson result = printed_result(printed);
  for (const auto& [member, file] : files) {
    const OrderedJson* found = member_at(result, member);
    if (found == nullptr)
      return Error(err::kStepFailed, fmt::format("the command printed no '{}'", member))
          .at("--write " + member + "=" + file)
          .todo("the command has to print one JSON object, as hone does with --json");
    const OrderedJson& value = *found;
    if (const size_t slash = file.rfind('/'); slash != std::string::npos && slash > 0)
      HONE_TRY(file_store().make_dirs(file.substr(0, slash)));
    HONE_TRY(
        file_store().write(file, value.is_string() ? value.get<std::string>() : dump_json(value)));
  }
  return kExitDone;
}

}  // namespace hone

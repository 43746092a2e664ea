#include "run/commands/graph_show.h"

#include "base/core/log.h"
#include "base/core/text.h"
#include "engine/device/kernel_table.h"
#include "engine/graph/text.h"
#include "engine/passes/pass_table.h"
#include "engine/session/plan_text.h"
#include "learn/harness/budget/shown_program.h"
#include "learn/trace/read_ids.h"
#include "learn/trace/trace.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

std::string perhaps_meant(const std::string& name, const std::vector<std::string>& names) {
  const std::string near = nearest_name(name, names);
  return near.empty() ? "" : fmt::format("did you mean {}? ", near);
}

Status check_pass_names(const ShowSettings& s, const RunProgram& p) {
  const std::vector<std::string> names = stages_of(p);
  std::vector<std::string> asked = s.pass_off;
  if (!s.after.empty()) asked.push_back(s.after);
  for (const std::string& name : asked)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return Error(err::kMissingArgument,
                   fmt::format("the program {} has no pass '{}'", s.program, name))
          .todo(fmt::format("{}its passes: {}", perhaps_meant(name, names), join(names, ", ")));
  return Ok{};
}

}  // namespace

Status show_program(const ShowSettings& s, RunProgram p, const Backend& backend) {
  HONE_TRY(check_pass_names(s, p));
  const Program built = p.program;
  const std::vector<PassRecord> records =
      HONE_TRY(run_until(p, s.after, {s.pass_off.begin(), s.pass_off.end()}, backend));
  if (s.passes) {
    print_out(pass_table(built, records));
  } else if (s.explain) {
    print_out(kernel_table(p.program, backend));
  } else if (s.plan) {
    std::vector<Program> programs;
    programs.push_back(std::move(p.program));
    print_out(plan_text(HONE_TRY(Session::compile(std::move(programs), backend))));
  } else {
    p.program.compact();
    print_out(print(p.program));
  }
  return Ok{};
}

Result<RunProgram> program_of_run(const ShowSettings& s, const TaskModel& m) {
  FoundProgram found =
      HONE_TRY(find_program(m, {.name = s.program, .tokens = s.tokens, .slots = s.slots}));
  if (found.program) return std::move(*found.program);
  return Error(err::kMissingArgument, fmt::format("the run has no program '{}'", s.program))
      .at("--program " + s.program)
      .todo(fmt::format("{}its programs: {}", perhaps_meant(s.program, found.names),
                        join(found.names, ", ")));
}

Status write_trace(const ShowSettings& s, const Task& task, Pretrained model,
                   const Backend& backend) {
  std::optional<ExampleRows> rows;
  if (!s.ids.empty()) {
    TokenRows ids;
    for (const std::vector<int32_t>& row : HONE_TRY(read_ids(s.ids))) ids.add(row);
    rows.emplace(std::move(ids));
  }
  const std::vector<TracedTensor> traced =
      HONE_TRY(trace_task(task, model, rows ? &*rows : nullptr, backend, {.fuse = s.fuse}));
  HONE_TRY(save_trace(s.trace, traced));
  log_info("{}: {} tensors", s.trace, traced.size());
  return Ok{};
}

}  // namespace hone

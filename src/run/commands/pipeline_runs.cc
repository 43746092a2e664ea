#include "run/commands/pipeline_runs.h"

#include <signal.h>

#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/pipeline/child.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/runner.h"
#include "run/commands/command.h"

namespace hone {
namespace {

// "lost": its process is gone, and the same command continues it.
std::string status_of(const PipelineRunRow& run) {
  const bool gone = run.pid == 0 || start_of_process(run.pid) != run.pid_start;
  return run.status == "running" && gone ? "lost" : run.status;
}

Result<PipelineRunRow> chosen_run(PipelineState& state, const std::string& name) {
  if (!name.empty())
    if (const auto known = HONE_TRY(state.run(name))) return *known;
  const std::vector<PipelineRunRow> all = HONE_TRY(state.runs());
  if (name.empty() && !all.empty()) return all[0];
  std::vector<std::string> names;
  for (const PipelineRunRow& r : all) names.push_back(r.id);
  const std::string near = nearest_name(name, names);
  return Error(err::kNoPipelineRun, fmt::format("there is no pipeline run '{}'", name))
      .todo(near.empty() ? "'hone pipeline list' shows the runs"
                         : fmt::format("did you mean {}?", near));
}

}  // namespace

Result<std::unique_ptr<PipelineState>> open_pipeline_state(const std::string& folder) {
  if (!HONE_TRY(file_store().exists(folder + "/pipeline.db")))
    return Error(err::kNoPipelineRun, fmt::format("'{}' holds no pipeline runs", folder))
        .at("--pipeline_root")
        .todo("name the pipeline_root of the runs");
  return PipelineState::open(folder + "/pipeline.db");
}

Result<int> list_pipeline_runs(PipelineState& state, bool json) {
  for (const PipelineRunRow& r : HONE_TRY(state.runs())) {
    if (json)
      print_out(dump_json(OrderedJson{{"run", r.id},
                                      {"pipeline", r.pipeline},
                                      {"status", status_of(r)},
                                      {"begun", format_utc(r.begun_s)},
                                      {"message", r.message}}) +
                "\n");
    else
      print_out(fmt::format("{:<40} {:<9} {}  {}\n", r.id, status_of(r), format_utc(r.begun_s),
                            r.message));
  }
  return kExitDone;
}

Result<int> show_pipeline_run(PipelineState& state, const std::string& name,
                              const std::string& project, bool json) {
  const PipelineRunRow run = HONE_TRY(chosen_run(state, name));
  std::vector<StepRow> steps = HONE_TRY(state.steps(run.id));
  std::sort(steps.begin(), steps.end(),
            [](const StepRow& a, const StepRow& b) { return a.begun_s < b.begun_s; });
  if (json) {
    OrderedJson list = OrderedJson::array();
    for (const StepRow& r : steps)
      list.push_back({{"name", r.name},
                      {"status", r.status},
                      {"attempts", r.attempts},
                      {"seconds", std::max(0.0, r.ended_s - r.begun_s)},
                      {"reused_from", r.reused_from},
                      {"message", r.message},
                      {"result", r.result}});
    print_out(dump_json(OrderedJson{{"run", run.id},
                                    {"pipeline", run.pipeline},
                                    {"status", status_of(run)},
                                    {"root", run.root},
                                    {"steps", list}},
                        {.indent = 2}) +
              "\n");
    return kExitDone;
  }
  print_out(
      fmt::format("{}  {}  {}\n", run.id, status_of(run), link_to_run(run.root, run.id, project)));
  for (const StepRow& r : steps)
    print_out(fmt::format(
        "{:<14} {:<8} {:>7} {}\n", r.name, r.status,
        r.ended_s > r.begun_s && r.begun_s > 0 ? format_duration(r.ended_s - r.begun_s) : "-",
        !r.message.empty()      ? r.message
        : r.reused_from.empty() ? fmt::format("attempts {}", r.attempts)
                                : "taken from " + r.reused_from));
  return kExitDone;
}

Result<int> cancel_pipeline_run(PipelineState& state, const std::string& name) {
  PipelineRunRow run = HONE_TRY(chosen_run(state, name));
  const bool alive = status_of(run) == "running";
  if (run.status == "finished")
    return Error(err::kNoPipelineRun, fmt::format("run '{}' is finished", run.id))
        .todo("only a run that is not finished can be cancelled");
  const int64_t pid = run.pid;
  run.status = "cancelled";
  HONE_TRY(state.put(run));
  if (alive) ::kill(static_cast<pid_t>(pid), SIGTERM);
  log_info("{:<11} {}{}", "cancelled", run.id, alive ? ": its process ends now" : "");
  return kExitDone;
}

}  // namespace hone

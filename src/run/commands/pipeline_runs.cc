#include "run/commands/pipeline_runs.h"

#include <signal.h>

#include <algorithm>

#include "base/core/characters.h"
#include "base/core/log.h"
#include "base/core/log_wrap.h"
#include "base/core/text.h"
#include "base/core/url.h"
#include "base/store/store.h"
#include "operate/pipeline/child.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/runner.h"
#include "run/commands/command.h"
#include "run/commands/shown_steps.h"
#include "run/commands/step_results.h"

namespace hone {
namespace {

Result<PipelineRunRow> chosen_run(PipelineState& state, const std::string& name) {
  if (!name.empty())
    if (const auto known = HONE_TRY(state.run(name))) return *known;
  const std::vector<PipelineRunRow> all = HONE_TRY(state.runs());
  if (name.empty() && !all.empty()) return all[0];
  std::vector<std::string> names;
  for (const PipelineRunRow& r : all) names.push_back(r.id);
  if (names.empty())
    return Error(err::kNoPipelineRun, "there are no pipeline runs yet")
        .todo("name another place with --pipeline_root, or the file of the pipeline");
  constexpr size_t kShown = 5;
  const std::string near = nearest_name(name, names);
  const size_t more = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - more);
  return Error(err::kNoPipelineRun, fmt::format("there is no pipeline run '{}'", name))
      .todo(!near.empty() ? fmt::format("did you mean {}?", near)
                          : fmt::format("name a run: {}{}", join(names, ", "),
                                        more > 0 ? fmt::format(" and {} more", more) : ""));
}

// The recorded places are those of the folder in which the run was started.
std::string place_from_here(std::string error, const std::string& recorded,
                            const std::string& here) {
  const std::string label = "  at   ", from = label + recorded + "/", to = label + here + "/";
  for (size_t at = error.find(from); at != std::string::npos; at = error.find(from, at + to.size()))
    error.replace(at, from.size(), to);
  return error;
}

// The run, its state and its link, which has a line of its own if the terminal is too narrow. `width` 0: there is none.
std::string head_of_run(const PipelineRunRow& run, const std::string& link, size_t width) {
  const std::string head = fmt::format("{}  {}", run.id, status_of_run(run));
  const bool fits = width == 0 || static_cast<size_t>(count_characters(head + link)) + 2 <= width;
  return head + (fits ? "  " : "\n") + link + "\n";
}

}  // namespace

Result<std::unique_ptr<PipelineState>> open_pipeline_state(const std::string& folder) {
  if (!HONE_TRY(file_store().exists(folder + "/pipeline.db")))
    return Error(err::kNoPipelineRun, fmt::format("'{}' holds no pipeline runs", folder))
        .todo("go to the folder where it was run, or name its pipeline_root or its file");
  return PipelineState::open(folder + "/pipeline.db");
}

Result<int> show_pipeline_run(PipelineState& state, const std::string& name,
                              const std::string& folder, const std::string& project,
                              const ShownRuns& how) {
  const PipelineRunRow run = HONE_TRY(chosen_run(state, name));
  const std::string root = is_url(run.root) ? run.root : folder, here = folder + "/" + run.id;
  const ShownSteps steps(HONE_TRY(state.steps(run.id)), here);
  if (how.json) {
    OrderedJson list = OrderedJson::array();
    for (const StepRow& r : steps.rows())
      list.push_back({{"name", r.name},
                      {"status", status_of_step(run, r)},
                      {"attempts", r.attempts},
                      {"seconds", std::max(0.0, r.ended_s - r.begun_s)},
                      {"reused_from", r.reused_from},
                      {"message", r.message},
                      {"result", r.result}});
    print_out(dump_json(OrderedJson{{"run", run.id},
                                    {"pipeline", run.pipeline},
                                    {"status", status_of_run(run)},
                                    {"root", root},
                                    {"steps", list}},
                        {.indent = 2}) +
              "\n");
    return kExitDone;
  }
  const size_t width = terminal_columns(STDOUT_FILENO);
  print_out(head_of_run(run, link_to_run(root, run.id, project), width));
  TextTable table({{.name = "step"},
                   {.name = "status"},
                   {.name = "took", .kind = Column::kNumber, .priority = 1},
                   {.name = "attempts", .kind = Column::kNumber, .priority = 2},
                   {.name = "result", .kind = Column::kSentence}});
  for (const StepRow& r : steps.rows())
    table.add({r.name, status_of_step(run, r),
               r.ended_s > r.begun_s && r.begun_s > 0 ? format_duration(r.ended_s - r.begun_s) : "",
               r.attempts > 1 ? std::to_string(r.attempts) : "",
               how.form.format == "text" ? steps.short_result(r) : steps.result(r)});
  print_table(table, how.form);
  if (how.form.format == "text")
    for (const StepRow& r : steps.rows())
      print_out(
          wrap_error(place_from_here(error_of_step(r), run.folder + "/" + run.id, here), width));
  if (status_of_run(run) == "lost")
    log_info("{:<11} the process of this run has ended; the same command continues the run",
             "lost");
  return kExitDone;
}

Result<int> cancel_pipeline_run(PipelineState& state, const std::string& name) {
  PipelineRunRow run = HONE_TRY(chosen_run(state, name));
  const bool alive = status_of_run(run) == "running";
  if (run.status == "finished")
    return Error(err::kNoPipelineRun, fmt::format("run '{}' is finished", run.id))
        .todo("only a run that is not finished can be cancelled");
  const int64_t pid = run.pid;
  run.status = "cancelled";
  HONE_TRY(state.put(run));
  if (alive) ::kill(static_cast<pid_t>(pid), SIGTERM);
  log_info("{:<11} {}{}", "cancelled", run.id, alive ? ": its process ends now" : "");
  log_info(
      "{:<11} the same command starts a new run and takes the steps that are done from this one; "
      "with --run {} it continues this one",
      "again", run.id);
  return kExitDone;
}

}  // namespace hone

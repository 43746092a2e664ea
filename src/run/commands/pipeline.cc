// hone pipeline VERB ...: steps from data to an endpoint, run so that any kill is survived.
#include "operate/pipeline/pipeline.h"

#include <algorithm>

#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "base/store/hash.h"
#include "base/store/store.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/read_pipeline.h"
#include "operate/pipeline/runner.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/pipeline_compile.h"
#include "run/commands/pipeline_exec.h"
#include "run/commands/pipeline_list.h"
#include "run/commands/pipeline_plan.h"
#include "run/commands/pipeline_runs.h"
#include "run/commands/pipeline_schedule.h"
#include "run/commands/recipe_task.h"
#include "run/commands/step_results.h"

namespace hone {
namespace {

struct PipelineCommandSettings {
#define HONE_SETTINGS "run/commands/pipeline.def"
#include "base/settings/fields.inc"
};

bool names_file(const std::string& text) {
  const std::string name = to_lower(text);
  return name.ends_with(".json") || name.ends_with(".yaml") || name.ends_with(".yml");
}

// The argument after the verb is a run or a file.
Status take_argument(PipelineCommandSettings& s) {
  if (s.file_or_run.empty()) return Ok{};
  const bool is_run = (s.verb == "show" || s.verb == "cancel") && !names_file(s.file_or_run);
  std::string& target = is_run ? s.run : s.pipeline;
  if (!target.empty() && target != s.file_or_run)
    return Error(err::kMissingArgument,
                 fmt::format("'{}' and '{}' are given", target, s.file_or_run))
        .at(is_run ? "--run" : "--pipeline")
        .todo("name one");
  target = s.file_or_run;
  return Ok{};
}

Result<Pipeline> pipeline_of(PipelineCommandSettings& s) {
  if (s.pipeline.empty())
    return Error(err::kMissingArgument, fmt::format("'hone pipeline {}' needs a file", s.verb))
        .todo(fmt::format("write hone pipeline {} FILE.json; 'hone help pipeline' explains it",
                          s.verb));
  Pipeline p = HONE_TRY(read_pipeline(HONE_TRY(read_file(s.pipeline)), s.pipeline, task_recipe));
  if (s.pipeline_root.empty()) s.pipeline_root = p.root.empty() ? "pipeline_runs" : p.root;
  return p;
}

// The folder of this machine with the runs and their state.
std::string folder_of_runs(const PipelineCommandSettings& s) {
  return s.work_dir.empty() ? folder_of_root(without_end_slash(s.pipeline_root))
                            : without_end_slash(s.work_dir);
}

// The place of the lines that --dry_run prints.
ScriptPlace place_of_lines(const PipelineCommandSettings& s) {
  const std::string folder = folder_of_runs(s);
  const std::string run = s.run.empty() ? "dry-run" : s.run, own = shell_name(own_program());
  return {.folder = folder + "/" + run,
          .cache = folder + "/cache",
          .run = run,
          .hone = own,
          .program = s.hone_program.empty() ? own : s.hone_program,
          .project = s.project};
}

Result<int> run_steps(PipelineCommandSettings& s) {
  const Pipeline p = HONE_TRY(pipeline_of(s));
  const std::string program = s.hone_program.empty() ? own_program() : s.hone_program;
  HONE_TRY(check_pipeline(p, program, !s.dry_run));
  const std::vector<std::string> plan = planned_lines(p, program);
  if (s.dry_run) {
    const ScriptPlace place = place_of_lines(s);
    print_out(s.json
                  ? dump_json(pipeline_json(p, s.pipeline_root, place, plan), {.indent = 2}) + "\n"
                  : dry_run_text(p, s.pipeline_root, place, plan));
    return kExitDone;
  }
  for (const std::string& line : p.says) log_info("{}", line);
  for (const std::string& line : plan) log_info("{}", line);
  const auto results = [&p](const PipelineStep& step, const StepRow& row,
                            const std::string& folder) {
    return step_results(p, step, row, folder);
  };
  PipelineOutcome o = HONE_TRY(run_pipeline(p, {.root = without_end_slash(s.pipeline_root),
                                                .folder = without_end_slash(s.work_dir),
                                                .program = program,
                                                .version = std::string(version()),
                                                .project = s.project,
                                                .run = s.run,
                                                .fresh = s.fresh,
                                                .jobs = s.jobs,
                                                .results = results}));
  const OrderedJson j = o.json();
  if (s.json) print_out(dump_json(j, {.indent = 2}) + "\n");
  if (o.error) return std::move(*o.error);
  if (o.status == "stopped") {
    log_info("{:<11} the same command continues from here", "stopped");
    return 128 + o.stop_signal;
  }
  if (s.json) return kExitDone;
  for (const std::string& line : endpoint_lines(j)) log_info("{}", line);
  if (const OrderedJson& e = value_at(j, "endpoint"); !e.is_null())
    print_out(fmt::format("endpoint={}\n", value_text(e)));
  return kExitDone;
}

Result<int> run_on_schedule(PipelineCommandSettings& s) {
  HONE_TRY(pipeline_of(s));  // reports faults of the file now
  if (s.cron.empty() == s.on.empty())
    return Error(err::kMissingArgument, "a schedule is either --cron or --on")
        .todo("give --cron '0 3 * * *', or --on URL");
  return follow_schedule(
      {.cron = s.cron,
       .on = s.on,
       .every_s = s.every,
       .max_runs = s.max_runs,
       .seen_file = fmt::format("{}/seen-{}.txt", folder_of_runs(s),
                                sha256_of_text(s.pipeline + "\n" + s.on).substr(0, 12))},
      [&]() -> Result<int> {
        PipelineCommandSettings now = s;
        return run_steps(now);
      });
}

Result<int> compile_for_engine(PipelineCommandSettings& s) {
  const Pipeline p = HONE_TRY(pipeline_of(s));
  if (s.to.empty())
    return Error(err::kMissingArgument, "'hone pipeline compile' needs an engine")
        .todo("add --to " + join(pipeline_engine_names(), " or --to "));
  const CompileOptions options{.image = s.image,
                               .deploy_image = s.deploy_image,
                               .root = s.pipeline_root.find("://") == std::string::npos
                                           ? std::string()
                                           : without_end_slash(s.pipeline_root),
                               .registry = s.registry,
                               .project = s.project,
                               .region = s.region};
  return write_compiled(s.to, HONE_TRY(compile_pipeline(s.to, p, options)), s.output);
}

// The folder with the state of the runs; in the folder of a project that of its pipeline.
Result<std::string> state_folder(PipelineCommandSettings& s) {
  if (s.pipeline_root + s.work_dir + s.pipeline == "" && !path_exists("pipeline_runs"))
    s.pipeline = path_exists("pipeline.json") ? "pipeline.json" : "";
  if (s.pipeline_root.empty() && is_folder(s.pipeline)) s.pipeline_root.swap(s.pipeline);
  if (s.pipeline_root.empty() && !s.pipeline.empty()) HONE_TRY(pipeline_of(s));
  if (s.pipeline_root.empty()) s.pipeline_root = "pipeline_runs";
  return folder_of_runs(s);
}

Result<int> run_pipeline_command(const std::vector<std::string>& given) {
  std::vector<std::string> own = given, command;
  if (const auto end = std::find(own.begin(), own.end(), "--"); end != own.end()) {
    command.assign(end + 1, own.end());
    own.erase(end, own.end());
  }
  PipelineCommandSettings s;
  Schema schema("hone pipeline", "steps from data to an endpoint");
  s.bind(schema);
  for (const char* name : {"verb", "file_or_run"}) schema.positional(name);
  std::replace(own.begin(), own.end(), std::string("-o"), std::string("--output"));
  if (HONE_TRY(parse_settings(schema, own)).done) return kExitDone;
  HONE_TRY(take_argument(s));
  if (s.verb == "exec") return exec_command(command, s.folder, s.write, own_program());
  if (s.verb == "run") return run_steps(s);
  if (s.verb == "schedule") return run_on_schedule(s);
  if (s.verb == "compile") return compile_for_engine(s);
  const bool is_named = !(s.pipeline_root + s.work_dir + s.pipeline).empty();
  const std::string folder = HONE_TRY(state_folder(s));
  const ShownRuns how{.json = s.json, .form = {s.csv ? "csv" : "text", s.wide}};
  if (s.verb == "list") return list_pipeline_runs(folder, is_named, how);
  const auto state = HONE_TRY(open_pipeline_state(folder));
  if (s.verb == "show") return show_pipeline_run(*state, s.run, folder, s.project, how);
  return cancel_pipeline_run(*state, s.run);
}

}  // namespace

Command command_pipeline() {
  return {.name = "pipeline",
          .summary = "run steps from data to an endpoint, here or compiled for a cluster",
          .in = CommandGroup::kOperate,
          .run = run_pipeline_command};
}

}  // namespace hone

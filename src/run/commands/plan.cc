// hone plan --task T: the memory and time of the run that the same flags would start, without its
// weights or data.
#include "base/core/log_wrap.h"
#include "base/core/text.h"
#include "base/settings/errors.h"
#include "learn/harness/budget/plan_report.h"
#include "learn/harness/budget/rank_report.h"
#include "run/commands/command.h"
#include "run/commands/in_flags.h"
#include "run/commands/training.h"

namespace hone {
namespace {

struct PlanSettings {
#define HONE_SETTINGS "run/commands/plan.def"
#include "base/settings/fields.inc"
};

template <class Report>
int print_report(const Report& report, bool as_json) {
  print_out(as_json ? dump_json(report.json()) + "\n"
                    : wrap_report(report.text(), terminal_columns(STDOUT_FILENO)));
  return report.fits() ? kExitDone : kExitUserError;
}

Result<int> plan(const ChosenTask& chosen, const PlanSettings& only) {
  const Task& task = *chosen.task;
  const TaskSettings& s = *task.settings;
  Pretrained model = HONE_TRY(open_for_training(task, false)).model;
  const PlannedDevices devices =
      HONE_TRY(planned_devices(s.device_here(), static_cast<int>(s.threads)));
  const bool has_ranks = devices.cluster.all() > 1 && s.do_train;
  if (only.compile && (!has_ranks || devices.cluster.device.kernels != "tpu"))
    return Error(err::kSettingChoice,
                 fmt::format("compile: {} is not a slice of TPUs that trains", s.device_here()))
        .at("--compile")
        .todo("give --do_train and a slice such as --device v3-8, or leave --compile out");
  if (only.choices && has_ranks)
    return Error(err::kSettingChoice,
                 fmt::format("choices: they are those of one device, and {} is several",
                             s.device_here()))
        .at("--choices")
        .todo(fmt::format("leave it out: the layouts of ranks are compared; or name one device, "
                          "as in --device {}",
                          devices.cluster.device.name));
  if (has_ranks) {
    RankOptions options{.mesh = s.mesh,
                        .links = {only.peer_gbyte, only.network_gbit, only.network_us},
                        .compile = only.compile};
    if (chosen.schema.given("zero_stage")) options.stage = s.zero_stage;
    return print_report(HONE_TRY(rank_report(task, model, devices, options)), only.json);
  }
  const bool choices = only.choices || s.auto_fit;
  return print_report(HONE_TRY(plan_report(task, model, devices, choices)), only.json);
}

Result<int> run_plan(const std::vector<std::string>& args) {
  PlanSettings only;
  const auto chosen = HONE_TRY(
      choose_task({.name = "hone plan",
                   .summary = "exact memory and estimated time of a run, before it starts",
                   .defaults = [](TaskSettings& s) { s.do_train = true; },
                   .more = [&](Schema& schema) { only.bind(schema); },
                   .one_device = "name the slice, as in --device v3-8: its ranks are planned"},
                  args));
  if (!chosen->task) return kExitDone;
  return in_flags(chosen->schema, plan(*chosen, only));
}

}  // namespace

Command command_plan() {
  return {.name = "plan",
          .summary = "exact memory and estimated time of a run, before it starts",
          .in = CommandGroup::kTrain,
          .run = run_plan};
}

}  // namespace hone

// hone bench step: seconds of whole training steps on this machine, for comparisons with other
// programs. hone bench --task T: those of hone train --task T on its own data. hone profile: either
// with its table and trace.
#include <algorithm>

#include "base/core/log.h"
#include "base/core/memory.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "engine/session/profile.h"
#include "learn/harness/run/timed_steps.h"
#include "learn/tasks/tasks.h"
#include "learn/train/step_profile.h"
#include "run/commands/command.h"
#include "run/commands/in_flags.h"
#include "run/commands/run_bench.h"
#include "run/commands/training.h"

namespace hone {
namespace {

struct ReportSettings {
#define HONE_SETTINGS "run/commands/bench_report.def"
#include "base/settings/fields.inc"
};

struct BenchSettings {
#define HONE_SETTINGS "run/commands/bench.def"
#include "base/settings/fields.inc"
};

// The ops of a step, the longest first.
OrderedJson ops_of(const Session& session, const Profile& profile, int64_t steps) {
  const auto share = 1.0 / static_cast<double>(std::max<int64_t>(1, steps));
  OrderedJson all = OrderedJson::array();
  for (const OpTime& op : times_by_op(session, profile))
    all.push_back({{"phase", op.phase},
                   {"op", op.op},
                   {"runs", static_cast<double>(op.runs) * share},
                   {"launches", static_cast<double>(op.launches) * share},
                   {"seconds", op.seconds * share},
                   {"flops", op.flops * share},
                   {"bytes", op.bytes * share}});
  return all;
}

Status report(const ReportSettings& s, const Session& session, const TimedSteps& steps,
              const Backend& backend, bool bf16, const OrderedJson& more) {
  const int64_t peak_bytes = read_memory().rss_peak_bytes;  // before the probe of the limits
  const int64_t taken_bytes = backend.device().taken_bytes();
  const MachineLimits limits = HONE_TRY(measure_limits(backend, bf16));
  if (s.profile)
    for (const std::string& line :
         split(profile_table(session, steps.profile, limits,
                             static_cast<int64_t>(steps.seconds.size()) - 1),
               '\n'))
      if (!line.empty()) log_info("{}", line);
  if (!s.trace.empty()) {
    HONE_TRY(file_store().write(s.trace, chrome_trace(session, steps.profile)));
    log_info("the trace is in {}; open it in chrome://tracing or ui.perfetto.dev", s.trace);
  }
  if (!s.logdir.empty())
    log_info("the profile is in {}; open it with tensorboard --logdir {}",
             HONE_TRY(write_profile(s.logdir, session, steps.profile, steps.in_profile)), s.logdir);
  OrderedJson j;
  j["step_seconds"] = steps.seconds;
  j["loss"] = steps.losses;
  for (const auto& [key, value] : more.items()) j[key] = value;
  j["planned_bytes"] = session.plan().arena_bytes();
  j["planned_device_bytes"] = session.plan().arena_bytes(Space::device);
  if (taken_bytes >= 0) j["taken_device_bytes"] = taken_bytes;
  j["peak_rss_bytes"] = peak_bytes;
  j["backend"] = backend.description();
  j["matmul_gflops"] = limits.flops / 1e9;
  j["memory_gbytes"] = limits.bytes / 1e9;
  if (s.profile)
    j["ops"] = ops_of(session, steps.profile, static_cast<int64_t>(steps.seconds.size()) - 1);
  if (s.json) print_out(dump_json(j) + "\n");
  return Ok{};
}

TimedSteps steps_for(const ReportSettings& s) {
  TimedSteps steps;
  steps.profiled = s.profile || !s.trace.empty() || !s.logdir.empty();
  return steps;
}

// Steps of a run of the task, at a constant rate.
Result<int> bench_run(const Task& task, OpenedModel opened, const ReportSettings& out,
                      bool blocks) {
  const TaskSettings& s = *task.settings;
  ModelConfig& config = opened.model.config;
  if (!out.dropout) config = without_dropout(config);
  if (blocks) set_log_level(LogLevel::kWarning);  // hides the summary of the run
  const auto run = HONE_TRY(TaskRun::open(task, std::move(opened.model), opened.from_scratch));
  set_log_level(LogLevel::kInfo);
  TimedSteps steps = steps_for(out);
  const auto options = s.loss_scale_options();
  const double scale = options ? LossScale(*options).value() : 1;
  HONE_TRY(
      steps.run(run->session(), run->steps().total_steps(), [&](int64_t step) -> Result<StepSums> {
        StepSums sums = HONE_TRY(run->take_step(step, {s.learning_rate, step + 1, scale}));
        sums.tokens = sums.all_tokens;
        return sums;
      }));
  OrderedJson more{{"tokens", steps.tokens}};
  if (blocks)
    more = {{"tokens_per_step", steps.tokens[0]},
            {"flops_per_step", benchmark_flops(run->session().programs()[0])}};  // a whole step
  if (run->time()) more["predicted_step_seconds"] = run->time()->step_seconds;
  HONE_TRY(report(out, run->session(), steps, run->backend(), s.bf16, more));
  return kExitDone;
}

// A run of clm whose data are blocks of ids.
Result<int> bench_blocks(const BenchSettings& s, const ReportSettings& out) {
  Task task = find_task("clm");
  Schema schema = described(task);
  HONE_TRY(schema.parse(
      {"--model_name_or_path=" + s.model_name_or_path, "--do_train",
       "--adapter_name_or_path=" + s.adapter_name_or_path, fmt::format("--block_size={}", s.block),
       fmt::format("--per_device_train_batch_size={}", s.batch),
       fmt::format("--max_steps={}", s.steps), fmt::format("--learning_rate={}", s.learning_rate),
       fmt::format("--bf16={}", s.bf16), fmt::format("--threads={}", s.threads),
       "--device=" + s.device, fmt::format("--gradient_checkpointing={}", s.gradient_checkpointing),
       fmt::format("--activation_memory_budget={}", s.activation_memory_budget),
       "--weight_decay=0.01", "--shuffle=false"},
      {}));
  OpenedModel opened = HONE_TRY(open_for_training(task));
  const ExampleRows blocks = HONE_TRY(
      read_blocks(s.ids, {.rows = s.batch, .tokens = s.block, .vocab = opened.model.config.vocab}));
  task.examples = [&, clm = task.examples](Pretrained& m, const ExampleSource& source) {
    return clm(m, {source.pool, &blocks});
  };
  return bench_run(task, std::move(opened), out, true);
}

Result<int> bench_task(const Task& task, const ReportSettings& out) {
  OpenedModel opened = HONE_TRY(open_for_training(task));
  return bench_run(task, std::move(opened), out, false);
}

Result<int> run_bench_command(const std::vector<std::string>& args) {
  return run_bench(args, false);
}

}  // namespace

Result<int> run_bench(const std::vector<std::string>& args, bool as_profile) {
  const std::string name = as_profile ? "hone profile" : "hone bench",
                    summary = as_profile ? "show where the time of a training step goes"
                                         : "time training steps";
  ReportSettings out;
  const auto preset = [&](Schema& schema, const char* steps) {
    if (!as_profile) return;
    for (auto [flag, value] :
         {std::pair{"profile", "true"}, {"trace", "profile.json"}, {steps, "3"}})
      schema.preset(flag, value);
  };
  if (std::any_of(args.begin(), args.end(),
                  [](const std::string& a) { return a == "--task" || a.starts_with("--task="); })) {
    const auto more = [&](Schema& schema) {
      out.bind(schema);
      preset(schema, "max_steps");
    };
    const auto defaults = [](TaskSettings& s) {
      s.do_train = true;
      s.max_steps = 6;
      s.weight_decay = 0.01;
    };
    const auto chosen = HONE_TRY(
        choose_task({.name = name, .summary = summary, .defaults = defaults, .more = more}, args));
    if (!chosen->task) return kExitDone;
    return in_flags(chosen->schema, bench_task(*chosen->task, out));
  }
  BenchSettings s;
  Schema schema(name, summary);
  s.bind(schema);
  out.bind(schema);
  schema.positional("what");
  preset(schema, "steps");
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  return bench_blocks(s, out);
}

Command command_bench() {
  return {.name = "bench",
          .summary = "time training steps on this machine",
          .in = CommandGroup::kInspect,
          .run = run_bench_command};
}

}  // namespace hone

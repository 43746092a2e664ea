// hone train --task T: fine-tune, evaluate and save, as Transformers' run_*.py.
#include <cmath>

#include "base/core/clock.h"
#include "base/core/held_stop.h"
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/store/new_folders.h"
#include "learn/train/errors.h"
#include "operate/monitor/monitor.h"
#include "run/commands/command.h"
#include "run/commands/data_paths.h"
#include "run/commands/in_flags.h"
#include "run/commands/joined_ranks.h"
#include "run/commands/rank_threads.h"
#include "run/commands/supervise.h"
#include "run/commands/train_record.h"
#include "run/commands/trained_settings.h"
#include "run/commands/training.h"

namespace hone {
namespace {

struct Training {
  const TaskSettings& s;
  TaskRun& run;
  Trainer& trainer;
  OrderedJson& results;  // of the whole run
};

// Writes metrics beside the model, adds them to the results and prints them.
Status record(const Training& t, const std::string& which, const OrderedJson& metrics) {
  HONE_TRY(t.trainer.write_results(which, metrics));
  t.results.update(metrics);
  log_info("{}", results_table(which, metrics));
  return Ok{};
}

// The exit status if the run ends here, else nothing.
Result<std::optional<int>> train_steps(const Training& t) {
  TrainOutcome outcome = HONE_TRY(t.trainer.train());
  const MemoryReport memory = t.run.memory();
  log_info("{:<11} {}", "memory", memory.text());
  if (outcome.stopped_by) return 128 + outcome.stopped_by;
  if (outcome.out_of_time) return kExitOutOfTime;
  OrderedJson& metrics = outcome.metrics;
  if (t.run.time())
    metrics["train_predicted_step_s"] = std::round(t.run.time()->step_seconds * 1e4) / 1e4;
  metrics["memory_planned_bytes"] = memory.planned_bytes;
  metrics["memory_measured_bytes"] = memory.measured_bytes;
  metrics["memory_runtime_bytes"] = memory.runtime_bytes;
  HONE_TRY(record(t, "train", metrics));
  return std::nullopt;
}

Status predict_rows(const Training& t) {
  const double begin_s = system_clock().seconds();
  const OrderedJson got = HONE_TRY(t.run.predict(t.s.output_dir));
  if (got.empty()) return Ok{};
  OrderedJson metrics;
  for (const auto& [key, value] : got.items()) metrics["predict_" + key] = value;
  const double seconds = system_clock().seconds() - begin_s;
  metrics["predict_runtime"] = std::round(seconds * 1e4) / 1e4;
  if (const auto rows = metrics.find("predict_samples"); rows != metrics.end())
    metrics["predict_samples_per_second"] = std::round(rows->get<double>() / seconds * 1e3) / 1e3;
  return record(t, "predict", metrics);
}

// `finished`: the training ended in an earlier call.
Result<int> do_parts(const Training& t, bool finished) {
  if (t.s.do_train && !finished)
    if (const auto status = HONE_TRY(train_steps(t))) return *status;
  if (t.s.do_eval) {
    const OrderedJson metrics = HONE_TRY(t.trainer.evaluate());
    if (metrics.empty()) return 128 + stop_signal();
    HONE_TRY(record(t, "eval", metrics));
    if (t.s.do_train && !finished) HONE_TRY(t.trainer.write_state());
  }
  if (t.s.do_predict) HONE_TRY(predict_rows(t));
  if (stop_signal()) return 128 + stop_signal();
  if (finished) return kExitDone;
  HONE_TRY(t.run.end());
  if (t.s.do_train) HONE_TRY(t.trainer.finish());
  return kExitDone;
}

// From the model to `results`. `monitor`: null on ranks but 0.
Result<int> train_task(const Task& task, const TrainStart& start, double begin_s, Monitor* monitor,
                       OrderedJson& results) {
  TaskSettings& s = *task.settings;
  install_stop_handlers();
  const auto run = HONE_TRY(open_run(task));
  HONE_TRY(run->check_ranks());
  const HeldStops held(!s.ranks->alone());
  HONE_TRY(s.ranks->share_stops());
  Schedule schedule = HONE_TRY(make_schedule(s, s.do_train ? run->steps().total_steps() : 0));
  Trainer trainer(s, *run, std::move(schedule));
  if (const double most = HONE_TRY(most_seconds(s)); std::isfinite(most))
    trainer.limit_seconds(most - (system_clock().seconds() - begin_s));
  if (monitor) {
    monitor->ready(run->memory().planned_bytes, &run->session());
    trainer.add_callback(monitor->callback());
  }
  if (run->time()) trainer.add_callback(make_time_report(*run->time()));
  if (auto listener = run->callback()) trainer.add_callback(std::move(listener));
  const bool finished = s.do_train && HONE_TRY(trainer.begin(start));
  if (finished) {
    if (const OrderedJson metrics = trainer.ended_metrics(); !metrics.is_null())
      log_info("{}", results_table("train", metrics));
    if (!s.do_eval && !s.do_predict) return kExitDone;
    HONE_TRY(trainer.load_ended());
  }
  return do_parts({s, *run, trainer, results}, finished);
}

// Runs the command on this rank, which has joined the others.
Result<int> train_on_rank(ChosenTask& chosen, double begin_s) {
  TaskSettings& s = *chosen.task->settings;
  const Schema& schema = chosen.schema;
  HONE_TRY(check_data_named(chosen));
  if (!s.do_train) HONE_TRY(use_trained_settings(chosen));
  const NewFolders made(s.ranks->leads() ? s.output_dir : "");
  const TrainStart start = s.do_train ? HONE_TRY(Trainer::find_start(s)) : TrainStart{};
  s.begin_from(start);
  std::unique_ptr<Monitor> monitor;
  if (s.ranks->leads()) {
    HONE_TRY(check_output_dir(s.output_dir));
    monitor = HONE_TRY(Monitor::begin(s, info_of(s, chosen.task->name, schema)));
  }
  log_info("hone {}: {}", version(), schema.command());
  if (std::string table = schema.changed_table(); !table.empty()) log_info("{}", table);
  HONE_TRY(warn_of_emulated_bf16(s));
  OrderedJson results;
  Result<int> status =
      in_flags(schema, train_task(*chosen.task, start, begin_s, monitor.get(), results));
  if (!monitor) return status;
  if (status.ok())
    monitor->end(RunEnd{*status == kExitDone ? "finished" : "stopped", "", "", 0}, results);
  else
    monitor->end(status.error());
  return status;
}

TaskCommand train_command() {
  return {.name = "hone train",
          .summary = "fine-tune a model",
          .check = check_training,
          .one_device = nullptr};
}

// Runs the command on `count` devices of this process.
Result<int> train_on_threads(ChosenTask& chosen, const std::vector<std::string>& args, int count,
                             double begin_s) {
  TaskSettings& s = *chosen.task->settings;
  Result<int> status =
      run_rank_threads(s, count, [&](std::shared_ptr<RunRanks> ranks) -> Result<int> {
        if (ranks->leads()) {
          s.ranks = std::move(ranks);
          return train_on_rank(chosen, begin_s);
        }
        const auto own = HONE_TRY(choose_task(train_command(), args));
        own->task->settings->ranks = std::move(ranks);
        own->task->settings->print = [](std::string_view) {};
        return train_on_rank(*own, begin_s);
      });
  s.ranks = std::make_shared<RunRanks>();
  return status;
}

Result<int> run_train(const std::vector<std::string>& args) {
  const double begin_s = system_clock().seconds();
  const auto chosen = HONE_TRY(choose_task(train_command(), args));
  if (!chosen->task) return kExitDone;
  const TaskSettings& s = *chosen->task->settings;
  if (!s.do_train && !s.do_eval && !s.do_predict)
    return Error(err::kNothingToDo, "neither training nor evaluation was asked for")
        .todo("add --do_train, --do_eval or both");
  const bool one_rank = HONE_TRY(read_world()).is_alone();  // the launcher starts others again
  if (s.restarts > 0 && one_rank && !is_supervised()) return supervise(args, s);
  const int threads = HONE_TRY(in_flags(chosen->schema, rank_threads_of(s)));
  if (threads > 1) return train_on_threads(*chosen, args, threads, begin_s);
  auto ranks = JoinedRanks::join(*chosen->task, chosen->schema);
  if (!ranks.ok()) {
    record_refusal(*chosen, ranks.error());
    return std::move(ranks.error());
  }
  return (*ranks)->end(train_on_rank(*chosen, begin_s));
}

}  // namespace

Command command_train() {
  return {.name = "train",
          .summary = "fine-tune a model, evaluate it, save it",
          .in = CommandGroup::kTrain,
          .run = run_train};
}

}  // namespace hone

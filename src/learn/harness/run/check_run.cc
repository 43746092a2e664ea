#include "learn/harness/run/check_run.h"

#include "base/core/text.h"
#include "engine/backends/backends.h"
#include "learn/checkpoint/output_dir.h"
#include "learn/data/rows/count_text.h"
#include "learn/harness/budget/disk_need.h"
#include "learn/train/best_model.h"
#include "learn/train/update.h"

namespace hone {
namespace {

constexpr FindingLevel kWarning = FindingLevel::kWarning, kNote = FindingLevel::kNote;

// The setting is a share of all steps, or a number of them.
double interval_steps(double interval, int64_t total) {
  return interval < 1 ? std::ceil(interval * static_cast<double>(total)) : interval;
}

void check_steps(const TaskSettings& s, const Schema& given, const RowsReport& rows, int64_t total,
                 Findings& findings) {
  const auto later_than_the_end = [&](double interval) {
    return interval_steps(interval, total) > static_cast<double>(total);
  };
  const int64_t warmup = resolve_warmup(s.warmup_steps, s.warmup_ratio, total);
  if (warmup >= total)
    findings.add(kWarning, "warmup_to_the_end",
                 fmt::format("the learning rate rises over {}, the run has {}",
                             count_of(warmup, "step"), total),
                 "--warmup_steps", "the full rate is never reached: warm up for fewer steps");
  if (const ScheduleForm* form = find_schedule(s.lr_scheduler_type);
      warmup > 0 && form != nullptr && !form->warms_up)
    findings.add(
        kWarning, "warmup_without_effect",
        fmt::format("the schedule '{}' has no warm-up: the requested warm-up steps have no effect",
                    s.lr_scheduler_type),
        "--lr_scheduler_type " + s.lr_scheduler_type, "use constant_with_warmup");
  const int64_t step_rows = s.batch_rows() * s.gradient_accumulation_steps;
  if (step_rows > rows.train.sequences)
    findings.add(kWarning, "step_larger_than_data",
                 fmt::format("a step takes {}, the training set has {}", count_of(step_rows, "row"),
                             rows.train.sequences),
                 "--per_device_train_batch_size x --gradient_accumulation_steps",
                 "every step is a whole epoch: use smaller batches");
  if (total < 10)
    findings.add(kNote, "few_steps",
                 fmt::format("the run has {}", count_of(total, "optimizer step")), "",
                 "more data, more epochs, or smaller batches make more steps");
  if (s.save_strategy == "steps" && later_than_the_end(s.save_steps))
    findings.add(
        kNote, "no_checkpoint_before_the_end",
        fmt::format("checkpoints come every {:g} steps, the run has {}", s.save_steps, total),
        "--save_steps");
  if (s.logging_strategy == "steps" && later_than_the_end(s.logging_interval(total)))
    findings.add(kNote, "no_log_before_the_end",
                 fmt::format("the log gets an entry every {:g} steps, the run has {}",
                             s.logging_steps, total),
                 "--logging_steps");
  const double eval_steps = s.evaluation_interval();
  if (s.do_eval && s.eval_strategy == "steps" && later_than_the_end(eval_steps))
    findings.add(
        kWarning, "no_evaluation_before_the_end",
        fmt::format("evaluations come every {:g} steps, the run has {}", eval_steps, total),
        "--eval_steps", "use fewer steps between them");
  if (given.given("num_train_epochs") && s.max_steps > 0)
    findings.add(kNote, "epochs_without_effect",
                 "--max_steps decides how long the run is, --num_train_epochs does not",
                 "--num_train_epochs");
}

// Models of less than a million parameters learn at larger rates than those that are fine-tuned.
double largest_rate(const ModelConfig& config, const UsualRates& usual) {
  return (parameter_count(config) < 1'000'000 ? 200 : 10) * usual.most;
}

void check_settings(const TaskSettings& s, const Schema& given, const RowLimit& limit,
                    const Pretrained& model, Findings& findings) {
  if (!s.do_eval && s.eval_strategy != "no")
    findings.add(kWarning, "evaluation_not_asked_for",
                 fmt::format("--eval_strategy {} does nothing without --do_eval", s.eval_strategy),
                 "--eval_strategy", "add --do_eval");
  if (s.do_eval && s.eval_strategy == "no" && s.do_train)
    findings.add(kNote, "evaluation_at_the_end_only", "the model is evaluated once, at the end",
                 "--eval_strategy");
  if (!s.validation_file.empty() && !s.do_eval)
    findings.add(kNote, "validation_file_unused", "--validation_file is not read without --do_eval",
                 "--validation_file");
  const UsualRates usual = optimizer_of(s).usual_rates;
  if (s.learning_rate == 0)
    findings.add(kWarning, "no_learning_rate", "nothing is learnt at a learning rate of 0",
                 "--learning_rate", fmt::format("{:g} to {:g} are usual", usual.least, usual.most));
  else if (model.weights && s.learning_rate > largest_rate(model.config, usual))
    findings.add(kWarning, "large_learning_rate",
                 fmt::format("{:g} is a large learning rate for a trained model", s.learning_rate),
                 "--learning_rate",
                 fmt::format("{:g} to {:g} are usual; larger ones make it forget or diverge",
                             usual.least, usual.most));
  if (s.weight_decay > 1)
    findings.add(kWarning, "large_weight_decay",
                 fmt::format("{:g} is a large weight decay", s.weight_decay), "--weight_decay",
                 "0 to 0.1 are usual");
  if (s.save_only_model && s.save_strategy != "no")
    findings.add(kNote, "no_resume",
                 "checkpoints without optimizer state cannot be resumed exactly",
                 "--save_only_model");
  if (limit.given > model.config.max_positions)
    findings.add(kWarning, "block_longer_than_model",
                 fmt::format("--{} {} is more than the model's {} positions, which are used",
                             limit.flag, limit.given, model.config.max_positions),
                 "--" + limit.flag);
}

void check_output(const TaskSettings& s, Findings& findings) {
  const Result<OutputDir> dir = classify_output_dir(s.output_dir);
  if (!dir.ok()) return findings.add(dir.error());
  const bool begins_anew = s.overwrite_output_dir || s.resume_from_checkpoint == "false";
  if (dir->kind == OutputDirKind::foreign_files && !s.overwrite_output_dir)
    findings.add(FindingLevel::kError, "output_folder_taken",
                 fmt::format("the folder '{}' holds other files: {}", s.output_dir,
                             join(dir->foreign, ", ")),
                 "--output_dir", "name another folder, or use --overwrite_output_dir");
  else if (dir->kind == OutputDirKind::finished && !begins_anew)
    findings.add(
        kNote, "run_is_finished",
        fmt::format("a run ended in '{}': the same command does nothing more", s.output_dir),
        "--output_dir", "name another folder, or start again with --overwrite_output_dir");
  else if (dir->kind == OutputDirKind::has_checkpoints && !begins_anew)
    findings.add(kNote, "run_continues",
                 fmt::format("the run continues from {}", dir->checkpoints.front().path),
                 "--output_dir");
}

void check_disk(const TaskSettings& s, const RunPlan& plan, const ModelConfig& config,
                RunReport& report, Findings& findings) {
  const int64_t offloaded = plan.arena_bytes(Space::disk);
  const DiskNeed need = disk_need(s, plan, saved_weights(config), report.steps, s.num_train_epochs);
  report.disk_bytes = need.bytes();
  report.disk_free_bytes = free_disk_bytes(s.output_dir);
  if (const Status room = check_disk_need(s, need, report.disk_free_bytes, 0); !room.ok())
    findings.add(FindingLevel::kError, "disk_too_small", room.error().what(),
                 fmt::format("--output_dir {}", s.output_dir), room.error().remedy());
  if (const int64_t free = free_disk_bytes(s.offload_folder()); offloaded > free)
    findings.add(FindingLevel::kError, "disk_too_small",
                 fmt::format("offloaded values take {} on disk, {} are free",
                             format_bytes(offloaded), format_bytes(free)),
                 s.offload_folder(), "use another disk");
}

}  // namespace

RowsReport check_texts(const TaskSettings& s, const TextSource& text, const CheckRequest& request,
                       Findings& findings) {
  RowsReport report;
  const Pretrained& model = request.model;
  const auto files = text.files(model, {s.do_train, s.do_eval}, request.notes);
  if (!files.ok()) {
    findings.add(files.error());
    return report;
  }
  report = check_rows(*files, model.tokenizer ? &*model.tokenizer : nullptr, model.config,
                      request.pool, request.samples, findings);
  for (const auto& [name, split] :
       {std::pair{"train", &report.train}, {"validation", &report.eval}})
    if (split->rows > 0)
      request.notes.push_back(fmt::format("{}: {}", name, describe(split->counts, files->options)));
  return report;
}

RunReport check_run(const Task& task, const Schema& given, const Pretrained& model,
                    const RowsReport& rows, Findings& findings) {
  RunReport report;
  const TaskSettings& s = *task.settings;
  Result<TaskModel> made = TaskModel::make(task, model);
  if (!made.ok()) {
    findings.add(made.error());
    return report;
  }
  const RowLimit& limit = made->form.limits[0];
  check_settings(s, given, limit, model, findings);
  task.check_settings(model, rows, findings);
  if (s.do_train && rows.train.sequences > 0) {
    const Result<StepCount> steps =
        StepCount::make({rows.train.sequences, s.batch_rows(), s.gradient_accumulation_steps,
                         s.num_train_epochs, s.max_steps, s.dataloader_drop_last});
    if (steps.ok()) {
      report.steps = steps->total_steps();
      check_steps(s, given, rows, report.steps, findings);
      if (const auto schedule = make_schedule(s, report.steps); !schedule.ok())
        findings.add(schedule.error());
    } else {
      findings.add(steps.error());
    }
  }
  findings.passed(check_strategies(s));
  if (const auto rule = update_options(s); !rule.ok()) findings.add(rule.error());
  if (s.do_train) check_output(s, findings);

  const auto backend = open_device(s.device_here(), {.threads = static_cast<int>(s.threads)});
  if (!backend.ok()) {
    findings.add(backend.error());
    return report;
  }
  made->take((*backend)->spec());
  const int64_t block = limit.tokens, wanted = s.per_device_train_batch_size;
  findings.passed(check_memory_flags(s));
  const ArenaLimits limits = limits_of(s, (*backend)->spec(), stream_bytes(s, block));
  report.memory_limit_bytes = limits.device;
  const Result<Fit> fit = fit_run(*made, **backend, wanted, limits, [&](int64_t r, bool whole) {
    return shapes_without_data(*made, block, r, whole, s.do_train, s.do_eval);
  });
  if (!fit.ok()) {
    findings.add(fit.error());
    return report;
  }
  report.memory_bytes = memory_of(fit->plan, (*backend)->spec());
  if (fit->rows == 0)
    findings.add(
        FindingLevel::kError, "memory_too_small",
        needs_text(needs_of(fit->plan, (*backend)->spec(), limits), row_size_text(made->form),
                   limits, std::max<int64_t>(s.split_invariant, 1)),
        "", "hone plan shows what would fit");
  else if (fit->rows < wanted && s.split_invariant == 0)
    findings.add(
        kNote, "small_micro_batches",
        fmt::format("a batch of {} rows is computed {} rows at a time: more do not fit into "
                    "memory",
                    wanted, fit->rows),
        "--per_device_train_batch_size");
  if (s.do_train) check_disk(s, fit->plan, model.config, report, findings);
  return report;
}

}  // namespace hone

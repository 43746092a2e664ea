// hone check --task T: validates data, model and settings; the flags of train, status 1 when
// something would fail.
#include <unistd.h>

#include <algorithm>

#include "base/core/error_report.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "base/settings/flag_names.h"
#include "learn/check/check_model.h"
#include "learn/check/sample_text.h"
#include "learn/data/rows/count_text.h"
#include "learn/harness/run/check_run.h"
#include "learn/harness/run/parameters_text.h"
#include "run/commands/check_fix.h"
#include "run/commands/check_policy.h"
#include "run/commands/command.h"
#include "run/commands/data_paths.h"
#include "run/commands/errors.h"
#include "run/commands/in_flags.h"
#include "run/commands/screen.h"
#include "run/commands/slice_columns.h"
#include "run/commands/training.h"

namespace hone {
namespace {

struct CheckOnly {
#define HONE_SETTINGS "run/commands/check.def"
#include "base/settings/fields.inc"
};

OrderedJson split_json(const SplitReport& r) {
  OrderedJson j = {{"rows", r.rows},
                   {"empty_rows", r.empty},
                   {"text_bytes", r.bytes},
                   {"tokens", r.counts.tokens_read},
                   {"tokens_dropped", r.counts.tokens_dropped},
                   {"rows_cut", r.counts.rows_cut},
                   {"sequences", r.sequences}};
  if (!r.pairs) return j;
  j["empty_sources"] = r.pairs->empty_sources;
  j["empty_targets"] = r.pairs->empty_targets;
  j["target_tokens"] = r.pairs->target_tokens;
  j["sources_cut"] = r.pairs->sources_cut;
  j["targets_cut"] = r.pairs->targets_cut;
  return j;
}

// Pairs are shown in two lines, what the encoder reads apart.
std::string samples_text(const RowsReport& rows, const Tokenizer& tokenizer) {
  std::string text;
  const auto line = [&](const Tokenizer& of, const SampleRow& row, const char* what) {
    text += fmt::format("{:<11} {}{}\n", "sample", what, sample_text(of, row, color_on_screen()));
  };
  for (const SampleRow& row : rows.samples) {
    if (!row.source.empty()) line(tokenizer, {row.source, {}, "", {}}, "source  ");
    line(rows.targets ? *rows.targets : tokenizer, row, rows.targets ? "target  " : "");
  }
  return text;
}

struct Checked {
  Findings findings;
  RowsReport rows;
  RunReport run;
};

// Checks the model, the rows and the run; returns lines about them.
std::string check_opened(const ChosenTask& chosen, Pretrained& model, int64_t samples, Checked& c) {
  const Task& task = *chosen.task;
  const TaskSettings& s = *task.settings;
  ThreadPool pool(s.threads > 0 ? static_cast<int>(s.threads) : ThreadPool::default_size());
  const Tokenizer* tokenizer = model.tokenizer ? &*model.tokenizer : nullptr;
  check_model(model, c.findings);
  std::string text = fmt::format("{:<11} {}: {}, {}\n", "model", model.name, model.config.family,
                                 parameters_text(model.config));
  std::vector<std::string> notes;
  c.rows = task.check_rows({model, pool, samples, notes}, c.findings);
  c.run = check_run(task, chosen.schema, model, c.rows, c.findings);
  for (const std::string& note : notes)
    text += fmt::format("{:<11} {}\n", "data", with_flags(chosen.schema, note));
  const RunReport& run = c.run;
  if (run.steps > 0)
    text += fmt::format("{:<11} {}\n{:<11} {} of {} free for model and checkpoints\n", "run",
                        count_of(run.steps, "optimizer step"), "disk", format_bytes(run.disk_bytes),
                        format_bytes(run.disk_free_bytes));
  text += fmt::format("{:<11} at most {} of {} that may be used\n", "memory",
                      format_bytes(run.memory_bytes), format_bytes(run.memory_limit_bytes));
  if (tokenizer) text += samples_text(c.rows, *tokenizer);
  return text;
}

// `model`: null if it cannot be opened.
Status check_slices(const Task& task, const Pretrained* model,
                    const std::vector<std::string>& columns) {
  if (task.prepared) return find_slice_columns(task, HONE_TRY(task.prepared->sources()), columns);
  if (!model) return Ok{};
  std::vector<std::string> notes;
  const TextFiles files = HONE_TRY(task.text->files(*model, {true, true}, notes));
  return find_slice_columns(task, HONE_TRY(sources_of(files)), columns);
}

// The errors as one, for the program that started this one.
Error error_of(const Findings& findings) {
  Error e(err::kCheckFailed,
          "the check found " + count_of(findings.count(FindingLevel::kError), "error"));
  const bool is_one = findings.count(FindingLevel::kError) == 1;
  for (const Finding& f : findings.all()) {
    if (f.level != FindingLevel::kError) continue;
    e.at(fmt::format("{}: {}", f.id, f.what));
    if (!f.where.empty()) e.at("  " + f.where);
    if (is_one) e.todo(f.todo);
    if (!is_one && !f.todo.empty()) e.at("  " + f.todo);
  }
  return e;
}

Result<int> run_check(const std::vector<std::string>& args) {
  CheckOnly only;
  const auto chosen =
      HONE_TRY(choose_task({.name = "hone check",
                            .summary = "validate data, model and settings before training",
                            .defaults = [](TaskSettings& s) { s.do_train = true; },
                            .more = [&](Schema& schema) { only.bind(schema); },
                            .takes = [](const Task& t) { return t.check_rows != nullptr; },
                            .check =
                                [&](const ChosenTask& chosen) {
                                  return check_slice_columns(chosen, only.slice_columns);
                                },
                            .one_device = nullptr},
                           args));
  if (!chosen->task) return kExitDone;
  const Task& task = *chosen->task;
  if (!only.fix.empty()) return in_flags(chosen->schema, fix_files(task, only.fix, only.json));

  Checked c;
  std::string text;
  const Status files = check_data_files(*task.settings);
  Result<OpenedModel> opened =
      files.ok() ? open_for_training(task) : Result<OpenedModel>(Error(files.error()));
  if (opened.ok())
    text = check_opened(*chosen, opened->model, only.samples, c);
  else
    c.findings.add(opened.error());
  if (!only.slice_columns.empty() && (task.prepared || task.text))
    c.findings.passed(
        check_slices(task, opened.ok() ? &opened->model : nullptr, only.slice_columns));
  if (!only.policy_metric.empty() && c.rows.train.rows > 0)
    check_policy(task, c.rows, only.policy_metric, c.findings);
  if (task.settings->allows("special_tokens") || task.settings->allows("no_labels"))
    c.findings.allow("all_masked_rows");
  const Findings findings = in_flags(chosen->schema, c.findings);
  const int64_t errors = findings.count(FindingLevel::kError),
                warnings = findings.count(FindingLevel::kWarning),
                notes = findings.count(FindingLevel::kNote);
  text += findings.text(color_on_screen());
  text += fmt::format("errors {}, warnings {}, notes {}\n", errors, warnings, notes);
  const OrderedJson json = {
      {"errors", errors},
      {"warnings", warnings},
      {"notes", notes},
      {"train", split_json(c.rows.train)},
      {"validation", split_json(c.rows.eval)},
      {"steps", c.run.steps},
      {"memory", {{"needed_bytes", c.run.memory_bytes}, {"limit_bytes", c.run.memory_limit_bytes}}},
      {"disk", {{"needed_bytes", c.run.disk_bytes}, {"free_bytes", c.run.disk_free_bytes}}},
      {"findings", findings.json()}};
  print_out(only.json ? dump_json(json) + "\n" : text);
  if (errors == 0) return kExitDone;
  report_error(error_of(findings));
  return kExitUserError;
}

}  // namespace

Command command_check() {
  return {.name = "check",
          .summary = "validate data, model and settings before training",
          .in = CommandGroup::kTrain,
          .run = run_check};
}

}  // namespace hone

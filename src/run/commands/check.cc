// hone check --task T: validates data, model and settings; the flags of train, status 1 when
// something would fail.
#include <unistd.h>

#include <filesystem>

#include "base/core/process.h"
#include "base/core/text.h"
#include "base/settings/flag_names.h"
#include "base/store/unpack.h"
#include "learn/check/check_model.h"
#include "learn/check/fix_text.h"
#include "learn/check/sample_text.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/files.h"
#include "learn/harness/run/check_run.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/in_flags.h"
#include "run/commands/training.h"

namespace hone {
namespace {

struct CheckOnly {
#define HONE_SETTINGS "run/commands/check.def"
#include "base/settings/fields.inc"
};

bool color_wanted() {
  const char* no_color = std::getenv("NO_COLOR");
  return is_terminal(STDOUT_FILENO) && (!no_color || !*no_color);
}

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
    text += fmt::format("{:<11} {}{}\n", "sample", what, sample_text(of, row, color_wanted()));
  };
  for (const SampleRow& row : rows.samples) {
    if (!row.source.empty()) line(tokenizer, {row.source, {}, "", {}}, "source  ");
    line(rows.targets ? *rows.targets : tokenizer, row, rows.targets ? "target  " : "");
  }
  return text;
}

Result<int> fix_files(const Task& task, const std::string& folder, bool json) {
  const TaskSettings& s = *task.settings;
  std::vector<std::string> files = HONE_TRY(expand_files(s.train_file));
  for (std::string& file : HONE_TRY(expand_files(s.validation_file, kValidationSplit)))
    files.push_back(std::move(file));
  if (files.empty())
    return Error(err::kMissingArgument, "--fix needs data: there is no --train_file")
        .todo("name the files by --train_file and --validation_file");
  const Charset encoding = HONE_TRY(encoding_of(s.encoding));
  RowOptions options;
  options.format = task.file_format(files);
  HONE_TRY(file_store().make_dirs(folder));
  OrderedJson list = OrderedJson::array();
  std::string text;
  int64_t lost = 0;
  for (const std::string& file : files) {
    const Format format = HONE_TRY(find_format(file, options));
    if (!format.text) {
      text += fmt::format("{}: {} is not a text format, so there is nothing to mend\n", file,
                          format.name);
      continue;
    }
    const std::string name = std::filesystem::path(file).filename();
    const std::string to = fmt::format("{}/{}", folder, without_packing(name));
    if (HONE_TRY(file_store().exists(to)))
      return Error(err::kFileExists, fmt::format("'{}' exists already", to))
          .at("--fix " + folder)
          .todo("name another folder, or remove the file");
    const FixReport r = HONE_TRY(fix_text(file, to, encoding));
    lost += r.lost;
    list.push_back({{"from", file},
                    {"to", to},
                    {"encoding", r.encoding},
                    {"unpacked", r.unpacked},
                    {"byte_order_mark", r.byte_order_mark},
                    {"repaired_bytes", r.repaired},
                    {"lost_bytes", r.lost},
                    {"places", r.places}});
    text += fmt::format("{} -> {}: {}{}{}\n", file, to, r.encoding, r.unpacked ? ", unpacked" : "",
                        r.byte_order_mark ? ", byte order mark taken off" : "");
    if (r.repaired > 0) text += fmt::format("  bytes read as cp1252: {}\n", r.repaired);
    if (r.lost > 0)
      text += fmt::format("  bytes that are not text and became U+FFFD: {}\n", r.lost);
    for (const std::string& place : r.places) text += fmt::format("  at   {}\n", place);
  }
  print_out(json ? dump_json(OrderedJson{{"files", list}}) + "\n" : text);
  return lost > 0 ? kExitUserError : kExitDone;
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
  std::string text =
      fmt::format("{:<11} {}: {}, {:.1f} million parameters\n", "model", model.name,
                  model.config.family, static_cast<double>(parameter_count(model.config)) / 1e6);
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
  text += fmt::format("{:<11} {} of {} that may be used\n", "memory",
                      format_bytes(run.memory_bytes), format_bytes(run.memory_limit_bytes));
  if (tokenizer) text += samples_text(c.rows, *tokenizer);
  return text;
}

Result<int> run_check(const std::vector<std::string>& args) {
  CheckOnly only;
  const auto chosen =
      HONE_TRY(choose_task({.name = "hone check",
                            .summary = "validate data, model and settings before training",
                            .defaults = [](TaskSettings& s) { s.do_train = true; },
                            .more = [&](Schema& schema) { only.bind(schema); },
                            .takes = [](const Task& t) { return t.check_rows != nullptr; }},
                           args));
  if (!chosen->task) return kExitDone;
  const Task& task = *chosen->task;
  if (!only.fix.empty()) return in_flags(chosen->schema, fix_files(task, only.fix, only.json));

  Checked c;
  std::string text;
  Result<OpenedModel> opened = open_for_training(task);
  if (opened.ok())
    text = check_opened(*chosen, opened->model, only.samples, c);
  else
    c.findings.add(opened.error());
  const Findings findings = in_flags(chosen->schema, c.findings);
  const int64_t errors = findings.count(FindingLevel::kError),
                warnings = findings.count(FindingLevel::kWarning),
                notes = findings.count(FindingLevel::kNote);
  text += findings.text(color_wanted());
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
  return errors > 0 ? kExitUserError : kExitDone;
}

}  // namespace

Command command_check() {
  return {.name = "check",
          .summary = "validate data, model and settings before training",
          .run = run_check};
}

}  // namespace hone

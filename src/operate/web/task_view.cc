#include "operate/web/task_view.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "learn/data/rows/text_files.h"
#include "learn/tasks/tasks.h"
#include "learn/train/ledger.h"
#include "operate/web/errors.h"
#include "operate/web/row_json.h"

namespace hone {
namespace {

constexpr int64_t kMostSeenBytes = 256 << 10;
// The labels are those of the rows that are shown, whatever labels the model has.
constexpr const char* kOwnLabels = "ignore_mismatched_sizes";
constexpr const char* kSettingsFile = "settings.json";  // its name in messages

// Settings of how a file is read, which the copy of the rows no longer needs.
constexpr const char *kFormat = "data_format", *kEncoding = "encoding", *kColumns = "column_names",
                     *kSampleBy = "sample_by", *kLineBreaks = "keep_linebreaks";

bool is_of_file(const std::string& name) {
  for (const char* of_file : {kFormat, kEncoding, kColumns, kSampleBy, kLineBreaks})
    if (name == of_file) return true;
  return false;
}

Result<Task> task_named(const std::string& name) {
  std::vector<std::string> names;
  for (Task& task : all_task()) {
    if (task.name == name && task.check_rows) return std::move(task);
    names.push_back(task.name);
  }
  return Error(err::kWebView, fmt::format("there is no task '{}'", name))
      .todo("name one of these: " + join(names, ", "));
}

// The settings that decide how rows are read and what they become.
Result<OrderedJson> settings_of_rows(const Schema& schema, const OrderedJson& settings,
                                     const PathRule& path) {
  OrderedJson chosen = OrderedJson::object();
  for (const Setting& s : schema.all()) {
    const OrderedJson& value = value_at(settings, s.name.c_str());
    if (value.is_null() || is_of_file(s.name) || !(decides(s, "rows") || decides(s, "reading")))
      continue;
    if (value.is_string())
      chosen[s.name] = HONE_TRY(path(value.get<std::string>()));
    else
      chosen[s.name] = value;
  }
  if (has_setting(schema, kOwnLabels)) chosen[kOwnLabels] = true;
  return chosen;
}

int64_t bytes_of_row(const Row& row) {
  int64_t bytes = 0;
  for (const Cell& cell : row.cells) bytes += bytes_of_cell(cell);
  return bytes;
}

std::string first_error(const Findings& findings) {
  for (const Finding& f : findings.all())
    if (f.level == FindingLevel::kError) return f.what;
  return "the task leaves the row out";
}

}  // namespace

Result<RowOptions> row_options_of(const OrderedJson& settings) {
  RowOptions options;
  if (!settings.is_object()) return options;
  options.format = text_at(settings, kFormat);
  if (const std::string encoding = text_at(settings, kEncoding); !encoding.empty())
    options.encoding = HONE_TRY(encoding_of(encoding));
  if (const std::string by = text_at(settings, kSampleBy); !by.empty())
    options.sample_by = HONE_TRY(sample_by_of(by));
  if (const OrderedJson& keeps = value_at(settings, kLineBreaks); keeps.is_boolean())
    options.keep_linebreaks = keeps.get<bool>();
  if (const OrderedJson& names = value_at(settings, kColumns); names.is_array())
    for (const OrderedJson& name : names)
      if (name.is_string()) options.column_names.push_back(name.get<std::string>());
  return options;
}

Result<std::shared_ptr<const TaskView>> TaskView::open(const std::string& task,
                                                       const ViewedModel& model,
                                                       const OrderedJson& settings,
                                                       const PathRule& path) {
  const Task named = HONE_TRY(task_named(task));
  Schema schema = described(named);
  OrderedJson chosen = HONE_TRY(settings_of_rows(schema, settings, path));
  std::vector<std::string> notices;
  HONE_TRY(schema.apply_file(dump_json(chosen), kSettingsFile, notices));  // refused now, not later
  OpenOptions options;
  options.need_weights = options.need_tokenizer = false;
  options.resize_embeddings = named.resizes_embeddings;
  if (model.tokenizer != model.model) options.tokenizer_name = model.tokenizer;
  Pretrained opened = HONE_TRY(open_pretrained(model.model, options));
  HONE_TRY(named.choose_head(opened.config));
  return std::shared_ptr<const TaskView>(new TaskView(task, std::move(opened), std::move(chosen)));
}

RowsReport TaskView::report(const std::string& lines, size_t rows, std::vector<std::string>& notes,
                            Findings& findings) const {
  const TemporaryFolder folder("hone_ui");
  const std::string file = folder.path + "/rows.jsonl";
  Result<Task> task = task_named(task_);
  std::vector<std::string> notices;
  Schema schema = described(*task);
  if (!findings.passed(file_store().write(file, lines)) ||
      !findings.passed(schema.apply_file(dump_json(settings_), kSettingsFile, notices)) ||
      !findings.passed(task->settle(schema)))
    return {};
  TaskSettings& s = *task->settings;
  s.do_train = true;
  // No part of the rows is kept back for validation, which is not read.
  s.train_file = s.validation_file = {file};
  s.do_eval = false;
  ThreadPool pool(1);
  return task->check_rows({model_, pool, static_cast<int64_t>(rows), notes}, findings);
}

SeenRows TaskView::see(const std::vector<std::string>& columns, const std::vector<Row>& rows,
                       const LabelNames& names) const {
  SeenRows seen;
  seen.rows.resize(rows.size());
  seen.left_out.resize(rows.size());
  std::vector<size_t> fitting;
  std::vector<std::string> lines;
  std::string all;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (bytes_of_row(rows[i]) > kMostSeenBytes) {
      seen.left_out[i] = fmt::format("the row has more than {}", format_bytes(kMostSeenBytes));
      continue;
    }
    fitting.push_back(i);
    lines.push_back(dump_json(named_row_json(rows[i], columns, names)) + "\n");
    all += lines.back();
  }
  if (fitting.empty()) return seen;
  Findings findings;
  RowsReport whole = report(all, fitting.size(), seen.notes, findings);
  seen.targets = std::move(whole.targets);
  if (whole.samples.size() == fitting.size()) {
    for (size_t i = 0; i < fitting.size(); ++i) seen.rows[fitting[i]] = std::move(whole.samples[i]);
    return seen;
  }
  // Some are left out; one at a time shows which.
  for (size_t i = 0; i < fitting.size(); ++i) {
    Findings of_row;
    std::vector<std::string> ignored;
    RowsReport one = report(lines[i], 1, ignored, of_row);
    if (one.targets && !seen.targets) seen.targets = std::move(one.targets);
    if (one.samples.empty())
      seen.left_out[fitting[i]] = first_error(of_row);
    else
      seen.rows[fitting[i]] = std::move(one.samples[0]);
  }
  return seen;
}

}  // namespace hone

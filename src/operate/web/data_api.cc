// Serves the data files of the folders: their rows, and what a task makes of them for its model.
#include <algorithm>

#include "base/core/json_members.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/data/rows/columns.h"
#include "learn/data/rows/files.h"
#include "learn/pretrained/trained_task.h"
#include "learn/tasks/tasks.h"
#include "learn/tokenizers/load/load.h"
#include "operate/monitor/errors.h"
#include "operate/web/api.h"
#include "operate/web/errors.h"
#include "operate/web/row_json.h"

namespace hone {
namespace {

constexpr int64_t kMostRows = 100, kMostRowsPassed = 1000000;
constexpr int64_t kMostRowBytes = 4 << 20, kMostWholeBytes = 128 << 20, kMostAnswerBytes = 8 << 20;
constexpr size_t kMostKept = 4, kMostClasses = 1000;
constexpr const char *kIds = "input_ids", *kLabelIds = "labels";  // columns of prepared rows

Error not_below(const std::string& what, const std::string& path) {
  return Error(err::kNotBelow, fmt::format("there is no {} '{}' below the folder", what, path))
      .todo("name a path below --folder, or below one of --data_folders");
}

OrderedJson tasks_json() {
  OrderedJson tasks = OrderedJson::array();
  for (const Task& task : all_task())
    if (task.check_rows) tasks.push_back({{"name", task.name}, {"summary", task.summary}});
  return tasks;
}

OrderedJson classes_json(const LabelNames& names) {
  OrderedJson classes = OrderedJson::object();
  for (const auto& [column, of_column] : names)
    if (of_column.size() <= kMostClasses) classes[column] = of_column;
  return classes;
}

// Rows [from, from + rows.size()) of a file.
struct ReadRows {
  std::unique_ptr<RowReader> reader;  // owns texts of the rows
  std::vector<Row> rows;
  bool more = false;
};

Result<ReadRows> read_page(const std::string& path, const RowOptions& options, int64_t from,
                           int64_t count) {
  ReadRows page;
  page.reader = HONE_TRY(open_rows({path}, options));
  Row row;
  int64_t bytes = 0;
  for (int64_t at = 0; HONE_TRY(page.reader->next(row)); ++at) {
    if ((page.more = at >= from + count || (at > from && bytes > kMostAnswerBytes))) break;
    if (at < from) continue;
    for (const Cell& cell : row.cells) bytes += bytes_of_cell(cell);
    page.rows.push_back(std::move(row));
    row = {};
  }
  return page;
}

// The rows of a prepared file, which are what the model gets.
OrderedJson prepared_rows_json(const std::vector<Row>& rows,
                               const std::vector<std::string>& columns,
                               const Tokenizer& tokenizer) {
  const auto list_of = [&](const Row& row, const char* name) -> const std::vector<int64_t>* {
    const auto at = place_of(columns, name);
    return at ? std::get_if<std::vector<int64_t>>(&row.cells[*at]) : nullptr;
  };
  // Targets are sometimes as long as their sources, but not all of them.
  const bool aligned = std::all_of(rows.begin(), rows.end(), [&](const Row& row) {
    const auto *ids = list_of(row, kIds), *labels = list_of(row, kLabelIds);
    return ids == nullptr || labels == nullptr || ids->size() == labels->size();
  });
  OrderedJson all = OrderedJson::array();
  for (const Row& row : rows) {
    const auto* ids = list_of(row, kIds);
    all.push_back(ids == nullptr ? OrderedJson()
                                 : id_row_json(*ids, list_of(row, kLabelIds), aligned, tokenizer));
  }
  return all;
}

}  // namespace

Result<std::string> DataApi::model_path(const std::string& model) {
  std::string path;
  if (const auto below = places_.find(model))
    path = *below;
  else
    path = HONE_TRY(models_.source_of(model));
  if (!is_folder(path) && !is_regular(path))
    return Error(err::kWebView, fmt::format("the model '{}' is not on this machine", model))
        .at(path)
        .todo("download it with hone pull, or name a folder below --folder");
  if (is_folder(path) && !is_regular(path + "/config.json"))
    return Error(err::kWebView, fmt::format("'{}' has no config.json", path))
        .todo("name the folder of a whole model; that of an adapter's base, for an adapter");
  for (const std::string& name : names_in(path))
    if (const std::string file = path + "/" + name; !is_folder(file) && !is_regular(file))
      return Error(err::kWebView, fmt::format("'{}' is not a regular file", file))
          .todo("name a folder of a model's files");
  return path;
}

Result<std::shared_ptr<Tokenizer>> DataApi::tokenizer(const std::string& model) {
  {
    std::lock_guard lock(mutex_);
    if (const auto it = tokenizers_.find(model); it != tokenizers_.end()) return it->second;
  }
  auto loaded = std::make_shared<Tokenizer>(HONE_TRY(load_tokenizer(HONE_TRY(model_path(model)))));
  std::lock_guard lock(mutex_);
  if (tokenizers_.size() >= kMostKept) tokenizers_.clear();
  tokenizers_[model] = loaded;
  return loaded;
}

// Files that settings name must be in the folders too.
Result<std::shared_ptr<const TaskView>> DataApi::view(const std::string& task,
                                                      const std::string& model,
                                                      const std::optional<RunRow>& run) {
  const std::string key =
      fmt::format("{}\n{}\n{}", task, model, run ? text_at(run->run, "id") : "");
  {
    std::lock_guard lock(mutex_);
    if (const auto it = views_.find(key); it != views_.end()) return it->second;
  }
  const PathRule rule = [&](const std::string& value) -> Result<std::string> {
    const std::string path = run ? path_of_run(*run, value) : value;
    if (value.empty() || !path_exists(path)) return value;
    const auto real = places_.find(path);
    if (!real) return not_below("file", path);
    return *real;
  };
  const std::string path = HONE_TRY(model_path(model));
  OrderedJson settings = run ? places_.row_settings_of(*run) : OrderedJson();
  // The settings that the model was trained with, if there is no run.
  if (const TrainedTask trained = HONE_TRY(read_trained_task(path)); !run && trained.task == task)
    settings = HONE_TRY(parse_ordered_json(trained.settings.dump(), kTrainedTaskFile));
  auto opened = HONE_TRY(TaskView::open(task, path, settings, rule));
  std::lock_guard lock(mutex_);
  if (views_.size() >= kMostKept) views_.clear();
  views_[key] = opened;
  return opened;
}

Result<WebAnswer> DataApi::list() {
  OrderedJson j = {
      {"folder", places_.folder}, {"data_folders", places_.more}, {"tasks", tasks_json()}};
  j.update(data_listing(places_, HONE_TRY(runs_.rows())));
  return api_answer(j);
}

Result<WebAnswer> DataApi::rows_of(const ApiRequest& request, const std::function<bool()>& stops) {
  const std::string file = request.get("file"), model = request.get("model");
  const auto path = places_.find(file);
  if (!path || !is_regular(*path)) return not_below("file", file);
  std::optional<RunRow> run;
  if (const std::string id = request.get("run"); !id.empty()) {
    for (RunRow& row : HONE_TRY(runs_.rows()))
      if (text_at(row.run, "id") == id) run = std::move(row);
    if (!run) return Error(err::kNoRun, fmt::format("no run has the id '{}'", id));
  }
  std::string task = request.get("task", run ? text_at(run->run, "task") : "");
  if (task.empty() && !model.empty())
    task = HONE_TRY(read_trained_task(HONE_TRY(model_path(model)))).task;
  RowOptions options =
      HONE_TRY(row_options_of(run ? places_.row_settings_of(*run) : OrderedJson()));
  options.limits = {.row_bytes = kMostRowBytes, .whole_bytes = kMostWholeBytes, .stops = stops};
  const int64_t from = request.number("from", 0, kMostRowsPassed),
                count = request.number("count", 20, kMostRows);
  const ReadRows page = HONE_TRY(read_page(*path, options, from, count));
  const std::vector<std::string>& columns = page.reader->columns();
  const LabelNames names = page.reader->label_names();
  const bool prepared = place_of(columns, kIds).has_value();
  SeenRows seen;
  std::shared_ptr<Tokenizer> of_ids;
  std::shared_ptr<const TaskView> as_task;
  if (!model.empty() && prepared) {
    of_ids = HONE_TRY(tokenizer(model));
  } else if (!model.empty() && !task.empty()) {
    as_task = HONE_TRY(view(task, model, run));
    seen = as_task->see(columns, page.rows, names);
  }
  const OrderedJson from_ids =
      of_ids ? prepared_rows_json(page.rows, columns, *of_ids) : OrderedJson();
  OrderedJson rows = OrderedJson::array();
  for (size_t i = 0; i < page.rows.size(); ++i) {
    OrderedJson cells = OrderedJson::object();
    OrderedMembers<OrderedJson> by_column(cells);
    for (size_t c = 0; c < std::min(columns.size(), page.rows[i].cells.size()); ++c)
      by_column[columns[c]] = shown_cell_json(page.rows[i].cells[c]);
    OrderedJson row = {{"row", from + static_cast<int64_t>(i) + 1}, {"cells", std::move(cells)}};
    if (of_ids) row["seen"] = from_ids[i];
    if (as_task && seen.rows[i] && as_task->tokenizer())
      row["seen"] = seen_row_json(*seen.rows[i], *as_task->tokenizer(),
                                  seen.targets ? *seen.targets : *as_task->tokenizer());
    else if (as_task)
      row["left_out"] = seen.left_out[i];
    rows.push_back(std::move(row));
  }
  return api_rows_answer({{"file", file},
                          {"task", task},
                          {"model", model},
                          {"run", run ? text_at(run->run, "id") : ""},
                          {"prepared", prepared},
                          {"columns", columns},
                          {"classes", classes_json(names)},
                          {"notes", seen.notes},
                          {"from", from},
                          {"more", page.more}},
                         rows);
}

WebAnswer DataApi::answer(const ApiRequest& request, const std::function<bool()>& stops) {
  Result<WebAnswer> given = request.get("file").empty() ? list() : rows_of(request, stops);
  return given.ok() ? std::move(*given) : api_failure(given.error(), 400);
}

}  // namespace hone

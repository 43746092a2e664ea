// Serves the data files of the folders: their rows, and what a task makes of them for its model.
#include <algorithm>

#include "base/core/json_members.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/data/rows/columns.h"
#include "learn/data/rows/files.h"
#include "learn/pretrained/open.h"
#include "learn/tasks/tasks.h"
#include "operate/monitor/errors.h"
#include "operate/web/api.h"
#include "operate/web/data_images.h"
#include "operate/web/data_models.h"
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

// Rows of other tasks, of images, have no tokens.
bool shows_tokens(const std::string& name) {
  if (name.empty()) return false;
  for (const Task& task : all_task())
    if (task.name == name) return task.reads_text;
  return true;
}

OrderedJson classes_json(const LabelNames& names) {
  OrderedJson classes = OrderedJson::object();
  for (const auto& [column, of_column] : names)
    if (of_column.size() <= kMostClasses) classes[column] = of_column;
  return classes;
}

constexpr const char *kPrediction = "prediction", *kReference = "reference";

bool is_wrong(const Row& row, const std::vector<std::string>& columns) {
  const auto a = place_of(columns, kPrediction), b = place_of(columns, kReference);
  if (!a || !b || row.cells[*a] == row.cells[*b]) return false;
  const OrderedJson given = whole_cell_json(row.cells[*a]), wanted = whole_cell_json(row.cells[*b]);
  // One of several answers that are right is enough.
  return given.is_array() || !wanted.is_array() ||
         std::find(wanted.begin(), wanted.end(), given) == wanted.end();
}

// The cells of a row; one with an image leads to its bytes.
OrderedJson cells_json(const Row& row, int64_t number, const std::vector<std::string>& columns,
                       const DataPlaces& places, const std::string& file) {
  OrderedJson cells = OrderedJson::object();
  OrderedMembers<OrderedJson> by_column(cells);
  for (size_t c = 0; c < std::min(columns.size(), row.cells.size()); ++c) {
    OrderedJson json = shown_cell_json(row.cells[c]);
    if (const auto* of_file = std::get_if<FileCell>(&row.cells[c])) {
      if (!of_file->bytes.empty()) json["image"] = {{"row", number}, {"column", columns[c]}};
    } else if (const auto* text = std::get_if<std::string>(&row.cells[c])) {
      if (const auto picture = image_named_by(places, file, *text))
        json = {{"path", *text}, {"picture", *picture}};
    }
    by_column[columns[c]] = std::move(json);
  }
  return cells;
}

// Rows of a file from `from` on.
struct ReadRows {
  std::unique_ptr<RowReader> reader;  // owns texts of the rows
  std::vector<Row> rows;
  std::vector<int64_t> numbers;  // of the rows in the file, from 1
  bool more = false;
};

// With `wrong` only rows count whose cells "prediction" and "reference" differ.
Result<ReadRows> read_page(const std::string& path, const RowOptions& options, int64_t from,
                           int64_t count, bool wrong) {
  ReadRows page;
  page.reader = HONE_TRY(open_rows({path}, options));
  Row row;
  int64_t bytes = 0, at = 0;  // at: the place among the rows that count
  for (int64_t number = 1; HONE_TRY(page.reader->next(row)); ++number) {
    if (wrong && !is_wrong(row, page.reader->columns())) continue;
    if ((page.more = at >= from + count || (at > from && bytes > kMostAnswerBytes))) break;
    if (at++ < from) continue;
    for (const Cell& cell : row.cells) bytes += bytes_of_cell(cell);
    page.rows.push_back(std::move(row));
    page.numbers.push_back(number);
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

// Adds what the task makes of row `i`, or why it leaves the row out.
void add_seen(OrderedJson& row, const SeenRows& seen, size_t i, const Tokenizer* tokenizer) {
  if (seen.rows[i] && tokenizer != nullptr)
    row["seen"] =
        seen_row_json(*seen.rows[i], *tokenizer, seen.targets ? *seen.targets : *tokenizer);
  else
    row["left_out"] = seen.left_out[i];
}

}  // namespace

Result<std::shared_ptr<Tokenizer>> DataApi::tokenizer(const std::string& model) {
  {
    std::lock_guard lock(mutex_);
    if (const auto it = tokenizers_.find(model); it != tokenizers_.end()) return it->second;
  }
  const DataModel named = HONE_TRY(data_model(places_, models_, model));
  auto loaded =
      std::make_shared<Tokenizer>(HONE_TRY(open_tokenizer(HONE_TRY(tokenizer_of(places_, named)))));
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
  const DataModel named = HONE_TRY(data_model(places_, models_, model));
  OrderedJson settings = run ? places_.row_settings_of(*run) : OrderedJson();
  // The settings that the model was trained with, if there is no run.
  const TrainedTask trained = HONE_TRY(open_trained_task(named.path));
  if (!run && trained.task == task)
    settings = HONE_TRY(parse_ordered_json(trained.settings.dump(), kTrainedTaskFile));
  ViewedModel files;
  files.model = HONE_TRY(whole_model(places_, named));
  files.tokenizer = HONE_TRY(tokenizer_of(places_, named));
  auto opened = HONE_TRY(TaskView::open(task, files, settings, rule));
  std::lock_guard lock(mutex_);
  if (views_.size() >= kMostKept) views_.clear();
  views_[key] = opened;
  return opened;
}

Result<WebAnswer> DataApi::list() {
  OrderedJson j = {
      {"folder", places_.folder}, {"data_folders", places_.more}, {"tasks", tasks_json()}};
  j.update(data_listing(places_, HONE_TRY(runs_.rows(true))));
  return api_answer(j);
}

// The run whose settings are wanted, if one is named.
Result<std::optional<RunRow>> DataApi::run_of(const ApiRequest& request) {
  const std::string id = request.get("run");
  if (id.empty()) return std::optional<RunRow>();
  for (RunRow& row : HONE_TRY(runs_.rows()))
    if (text_at(row.run, "id") == id) return std::optional(std::move(row));
  return Error(err::kNoRun, fmt::format("no run has the id '{}'", id));
}

Result<WebAnswer> DataApi::rows_of(const ApiRequest& request, const std::function<bool()>& stops) {
  const std::string file = request.get("file"), model = request.get("model");
  const auto path = places_.find(file);
  HONE_TRY(request.check_numbers({"from", "count", "row"}));
  const int64_t from = request.number("from", 0, kMostRowsPassed),
                count = request.number("count", 20, kMostRows);
  if (path && is_folder(*path)) return folder_rows(file, *path, from, count);
  if (!path || !is_regular(*path)) return not_below("file", file);
  const std::optional<RunRow> run = HONE_TRY(run_of(request));
  std::string task = request.get("task", run ? text_at(run->run, "task") : "");
  if (task.empty() && !model.empty())
    task = HONE_TRY(open_trained_task(HONE_TRY(data_model(places_, models_, model)).path)).task;
  RowOptions options =
      HONE_TRY(row_options_of(run ? places_.row_settings_of(*run) : OrderedJson()));
  options.limits = {.row_bytes = kMostRowBytes, .whole_bytes = kMostWholeBytes, .stops = stops};
  if (const int64_t row = request.number("row", 0, kMostRowsPassed); row > 0)
    return image_of(*path, options, row, request.get("column"));
  const bool wrong = request.number("wrong", 0, 1) == 1;
  const ReadRows page = HONE_TRY(read_page(*path, options, from, count, wrong));
  const std::vector<std::string>& columns = page.reader->columns();
  const LabelNames names = page.reader->label_names();
  const bool prepared = place_of(columns, kIds).has_value();
  SeenRows seen;
  std::shared_ptr<Tokenizer> of_ids;
  std::shared_ptr<const TaskView> as_task;
  if (!model.empty() && prepared) {
    of_ids = HONE_TRY(tokenizer(model));
  } else if (!model.empty() && shows_tokens(task)) {
    as_task = HONE_TRY(view(task, model, run));
    seen = as_task->see(columns, page.rows, names);
  }
  const OrderedJson from_ids =
      of_ids ? prepared_rows_json(page.rows, columns, *of_ids) : OrderedJson();
  OrderedJson rows = OrderedJson::array();
  for (size_t i = 0; i < page.rows.size(); ++i) {
    OrderedJson row = {
        {"row", page.numbers[i]},
        {"cells", cells_json(page.rows[i], page.numbers[i], columns, places_, file)}};
    if (of_ids) row["seen"] = from_ids[i];
    if (as_task) add_seen(row, seen, i, as_task->tokenizer());
    rows.push_back(std::move(row));
  }
  return api_rows_answer(
      {{"file", file},
       {"task", task},
       {"model", model},
       {"run", run ? text_at(run->run, "id") : ""},
       {"prepared", prepared},
       {"learns_next", as_task && as_task->learns_next_token()},
       {"columns", columns},
       {"classes", classes_json(names)},
       {"evaluated", place_of(columns, kPrediction) && place_of(columns, kReference)},
       {"notes", seen.notes},
       {"from", from},
       {"more", page.more}},
      rows);
}

Result<WebAnswer> DataApi::folder_rows(const std::string& name, const std::string& path,
                                       int64_t from, int64_t count) {
  const OrderedJson read = HONE_TRY(image_folder_rows(places_, path, from, count));
  return api_rows_answer({{"file", name},
                          {"task", ""},
                          {"model", ""},
                          {"run", ""},
                          {"prepared", false},
                          {"learns_next", false},
                          {"columns", read["columns"]},
                          {"classes", OrderedJson::object()},
                          {"evaluated", false},
                          {"notes", read["notes"]},
                          {"from", from},
                          {"more", read["more"]}},
                         read["rows"]);
}

// The image in a cell of a data file; rows count from 1.
Result<WebAnswer> DataApi::image_of(const std::string& path, const RowOptions& options, int64_t row,
                                    const std::string& column) {
  ReadRows page = HONE_TRY(read_page(path, options, row - 1, 1, false));
  const auto at = place_of(page.reader->columns(), column);
  auto* cell = page.rows.empty() || !at ? nullptr : std::get_if<FileCell>(&page.rows[0].cells[*at]);
  if (cell == nullptr || cell->bytes.empty())
    return Error(err::kWebView, fmt::format("row {} has no image in '{}'", row, column))
        .todo("name a row and column of the file that hold an image");
  return image_answer(std::move(cell->bytes));
}

WebAnswer DataApi::answer(const ApiRequest& request, const std::function<bool()>& stops) {
  const std::string picture = request.get("picture");
  Result<WebAnswer> given = !picture.empty()              ? image_file_answer(places_, picture)
                            : request.get("file").empty() ? list()
                                                          : rows_of(request, stops);
  return given.ok() ? std::move(*given) : api_failure(given.error(), 400);
}

}  // namespace hone

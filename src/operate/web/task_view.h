// Rows of a data file as a task gives them to its model: made by the task itself, on a copy of these
// rows alone.
//
//   const auto view = HONE_TRY(TaskView::open("sft", {folder, folder}, settings_of_a_run, rule));
//   const SeenRows seen = view->see(columns, rows, names);
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "learn/check/check_rows.h"
#include "learn/harness/task.h"

namespace hone {

struct SeenRows {
  // As many as rows were given; none: the task leaves the row out, for the reason in `left_out`.
  std::vector<std::optional<SampleRow>> rows;
  std::vector<std::string> left_out;
  std::optional<Tokenizer> targets;  // of pairs, that of ids and labels
  std::vector<std::string> notes;    // the columns that the task reads, one sentence each
};

// A value of a setting with paths made absolute; an Error for a file that may not be shown.
using PathRule = std::function<Result<std::string>(const std::string& value)>;

// Folders or GGUF files. An adapter may have another tokenizer than the model that it belongs to.
struct ViewedModel {
  std::string model, tokenizer;
};

class TaskView {
 public:
  // Weights of the model are not read.
  // `settings`: those of a run, of which the view takes the ones that decide how rows are read and
  // what they become; null: the defaults. Errors: H3502 no such task; those of `path`, of
  // open_pretrained and of the settings.
  static Result<std::shared_ptr<const TaskView>> open(const std::string& task,
                                                      const ViewedModel& model,
                                                      const OrderedJson& settings,
                                                      const PathRule& path);
  const Tokenizer* tokenizer() const { return model_.tokenizer ? &*model_.tokenizer : nullptr; }
  // Whether the label of each token is the next token, where a row names no other.
  bool learns_next_token() const { return model_.config.head == Head::causal_lm; }
  // Any number of threads may call it. Rows of more than 256 KiB are left out.
  SeenRows see(const std::vector<std::string>& columns, const std::vector<Row>& rows,
               const LabelNames& names) const;

 private:
  TaskView(std::string task, Pretrained model, OrderedJson settings)
      : task_(std::move(task)), model_(std::move(model)), settings_(std::move(settings)) {}
  RowsReport report(const std::string& lines, size_t rows, std::vector<std::string>& notes,
                    Findings& findings) const;

  std::string task_;
  Pretrained model_;
  OrderedJson settings_;  // those of the rows
};

// The way in which a run reads its files. Errors: those of its settings.
Result<RowOptions> row_options_of(const OrderedJson& settings);

}  // namespace hone

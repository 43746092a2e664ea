// Shows rows of a data file in the form in which a training task gives them to its model: as tokens and labels. The
// task's own code makes the tokens and labels, from a copy of only these rows.
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
  // One element for each given row; nullopt: the task leaves the row out, for the reason in `left_out` at the same
  // index.
  std::vector<std::optional<SampleRow>> rows;
  std::vector<std::string> left_out;  // one reason for each given row; "": the row is not left out
  // The tokenizer of targets, if the rows have a source and a target.
  std::optional<Tokenizer> targets;
  std::vector<std::string> notes;  // sentences about the columns that the task reads
};

// Returns a setting's value with its paths made absolute, or an Error if the value names a file that may not be shown.
using PathRule = std::function<Result<std::string>(const std::string& value)>;

// The folders or GGUF files of a model and of its tokenizer. An adapter's tokenizer may differ from that of its base
// model.
struct ViewedModel {
  std::string model, tokenizer;
};

class TaskView {
 public:
  // Opens the model without its weights. `settings` are the settings of a run; null: the defaults. The view uses only
  // the settings that decide how rows are read and converted. Errors: H3502 there is no such task; those of `path`, of
  // open_pretrained and of the settings.
  static Result<std::shared_ptr<const TaskView>> open(const std::string& task,
                                                      const ViewedModel& model,
                                                      const OrderedJson& settings,
                                                      const PathRule& path);
  const Tokenizer* tokenizer() const { return model_.tokenizer ? &*model_.tokenizer : nullptr; }
  // Whether the model learns to predict the next token: then a row without labels has the next token as the label of
  // each token.
  bool learns_next_token() const { return model_.config.head == Head::causal_lm; }
  // Converts rows. Several threads may call see() at the same time. Rows larger than 256 KiB are left out.
  SeenRows see(const std::vector<std::string>& columns, const std::vector<Row>& rows,
               const LabelNames& names) const;

 private:
  TaskView(std::string task, Pretrained model, OrderedJson settings)
      : task_(std::move(task)), model_(std::move(model)), settings_(std::move(settings)) {}
  RowsReport report(const std::string& lines, size_t rows, std::vector<std::string>& notes,
                    Findings& findings) const;

  std::string task_;
  Pretrained model_;
  OrderedJson settings_;  // the settings that decide how rows are read and converted
};

// The options with which a run with these settings reads its files. Errors: those of encoding_of() and sample_by_of()
// for a value that they do not know.
Result<RowOptions> row_options_of(const OrderedJson& settings);

}  // namespace hone

// A task: data and functions that define what is learnt from which rows. Each file x.cc of
// learn/tasks with `Task task_x();` is one, and --task names it. The common code of all runs
// (run/task_run.h) uses only this object.
#pragma once

#include <functional>
#include <memory>

#include "base/settings/settings.h"
#include "learn/generate/programs.h"
#include "learn/harness/examples.h"
#include "learn/harness/prepared_source.h"
#include "learn/harness/sample_project.h"
#include "learn/harness/settings.h"
#include "learn/harness/text_source.h"
#include "learn/harness/token_metrics.h"

namespace hone {

class Findings;
struct RowsReport;

// The length of the longest row on an axis, and the flag that sets it.
struct RowLimit {
  std::string axis;    // of the examples: "tokens", "source_tokens", ...
  int64_t tokens = 0;  // at most the model's positions
  std::string flag;    // without dashes
  int64_t given = 0;   // 0: the flag was not given
};

// The form of a run, from settings and model, before any data are read.
struct RunForm {
  std::vector<RowLimit> limits;  // by axis
  // Rows of any length; false: blocks of limits[0].tokens each.
  bool packs_rows = true;
  // True: a step whose rows fit one micro-batch never needs a second one. False: it may need a
  // shape that holds any rows and labels of a step; that shape is used only if it takes no more
  // memory than gradients kept from one micro-batch to the next.
  bool even_steps = false;
  // The program for the usual number of labels may be too small for a micro-batch. The axis
  // "labels" of a shape then adds room.
  bool labels_vary = false;
  int64_t most_rows = 0;  // of a micro-batch; 0: as many as fit
  // A row that is not made of tokens: limits[0] is one of these ("image of 224 x 224 pixels"), of this number of
  // values. "": rows of tokens.
  std::string row_text = "";
  int64_t row_values = 1;
  // Heights and widths of images in training, ascending: each shape exists for each of them, with the axis kSide.
  // Examples::side_of_step chooses. Empty: one size.
  std::vector<int64_t> sides = {};
  bool replaces_head = false;  // a checkpoint's head of another shape is replaced by a new one
  // Cache limits for generating texts in evaluations: sources of at most this number of tokens,
  // `rows` rows. Null: the run generates none.
  std::function<CacheLimits(int64_t source_tokens, int64_t rows)> generation = nullptr;
};

// For a loss that compares all rows of a step with each other. If a step is several micro-batches, or has rows on
// several ranks, it first computes the embeddings of all its rows, then the loss and its gradient by the embeddings,
// then the gradients of the weights by micro-batches (Gao et al. 2021, arXiv 2101.06983). The loss is the one of a
// single micro-batch.
struct JointLoss {
  using Build =
      std::function<Program(const ModelConfig&, const BatchShape&, const std::string& name)>;
  // The training forward pass, with the inputs of Task::program: output `embeddings`, the same number of floats for
  // each row of the shape.
  Build embed;
  // The same inputs, and `gradient` beside `embeddings`; output `loss` = their products' sum.
  Build part;
  // The loss of all rows of a step: state `embeddings`; input scale f32[] and those of Examples::collate_joint; output `loss`.
  std::function<Program(const ModelConfig&, int64_t rows, const std::string& name)> loss;
};

// The arguments of check_rows.
struct CheckRequest {
  const Pretrained& model;
  ThreadPool& pool;
  int64_t samples = 0;              // rows to show
  std::vector<std::string>& notes;  // receives notes on the data, one sentence each
};

struct Task {
  std::string name, summary;    // "clm", "causal language modelling"
  bool is_preset = false;       // of another task: --preset names it
  std::string metric = "loss";  // of evaluations: compares models unless another is named
  // The metrics that an evaluation's rows give, by which models can be compared.
  std::function<std::vector<std::string>()> metrics = token_metric_names;
  // The one that compares models of the rows that the settings name, by the first of these. Null: `metric` of all rows.
  std::function<Result<std::string>()> metric_of_rows = nullptr;
  std::optional<SampleProject> sample;     // none: hone init does not offer the task
  std::shared_ptr<TaskSettings> settings;  // those of every task; the functions share them
  std::function<void(Schema&)> bind;       // the flags of this task alone
  // Derives settings from others, after flags and files are read.
  std::function<Status(const Schema&)> settle = [](const Schema&) { return Ok{}; };

  // Sets the head that the task trains, and its labels if the settings know them; called before the
  // weights are read. An Error if the family has no such head.
  std::function<Status(ModelConfig&)> choose_head;
  // Errors: those of the model's generation config.
  std::function<Result<RunForm>(const Pretrained&)> form;
  // Builds the program of a micro-batch before any pass. collate fills its inputs; in training
  // there are also rng i64[2] = {seed, step} and scale f32[] = 1 / normaliser of the optimizer
  // step. Training has the output `loss` f32[]; the outputs of evaluation are for the task's
  // metrics.
  std::function<Program(const ModelConfig&, const BatchShape&, const std::string& name, bool train)>
      program;
  std::optional<JointLoss> joint;  // none: the loss is a sum over rows
  // Reads the rows that the settings name or, if the task trains on plain text, the rows of the
  // source. May change the model's config (labels), tokenizer and generation config. The model
  // outlives the examples. Errors name file, flag or tensor.
  std::function<Result<Examples>(Pretrained&, const ExampleSource&)> examples;

  // For hone prepare and --streaming: makes rows of texts, or of rows with several columns.
  std::optional<TextSource> text;
  std::optional<PreparedSource> prepared;
  bool reads_text = true;           // its models have tokenizers
  bool predicts = false;            // has rows to predict (--do_predict)
  bool resizes_embeddings = false;  // as the example script of the task, unless a setting says more

  // For hone check: finds faults of the rows and of the task's own settings.
  std::function<RowsReport(const CheckRequest&, Findings&)> check_rows;
  std::function<void(const Pretrained&, const RowsReport&, Findings&)> check_settings =
      [](const Pretrained&, const RowsReport&, Findings&) {};
  // The format in which the task reads these files, if it differs from their names.
  std::function<std::string(const std::vector<std::string>& files)> file_format =
      [](const std::vector<std::string>&) { return std::string(); };
};

// H2411: metric_for_best_model is nearly the name of a metric of the task. Other names are compared with the
// first evaluation: it may give more than those of its rows.
Status check_best_metric(const Task& task);

// A read-only schema of all settings of the task with their values.
Schema described(const Task& task, const std::string& command = "hone train");

}  // namespace hone

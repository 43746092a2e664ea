// A task, such as "clm" or "ner": data and functions that define the rows, the programs and the metrics of a run. A
// file learn/tasks/x.cc that defines `Task task_x();` adds a task, and `--task x` chooses it. The code that is common
// to all runs (run/task_run.h) knows a task only through this object.
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
  std::string axis;    // name of the axis: "tokens", "source_tokens", ...
  int64_t tokens = 0;  // length of the longest row, at most the model's positions
  std::string flag;    // the flag that sets it, without dashes
  int64_t given = 0;   // the flag's value; 0: the flag was not given
};

// The form of a run's rows. It follows from settings and model, before any data are read.
struct RunForm {
  std::vector<RowLimit> limits;  // by axis, in the order of ExampleRows::axes
  // True: rows of any length are packed into a micro-batch. False: all rows are blocks of limits[0].tokens tokens.
  bool packs_rows = true;
  // True: a step whose rows fit into one micro-batch never needs a second one. False: a step can have longer rows or
  // more labels than usual, so a program for a whole step must have room for the longest rows and the most labels. A
  // step is then one program only if this takes no more memory than several micro-batches, whose gradients are kept
  // from one micro-batch to the next.
  bool even_steps = false;
  // True: a micro-batch may have more labels than the usual program has room for. The axis "labels" of a shape, if the
  // shape has it, is the number of labels for which the program has room.
  bool labels_vary = false;
  int64_t most_rows = 0;  // the largest number of rows of a micro-batch; 0: as many as fit
  // Description of a row that is not made of tokens, such as "224 x 224 pixels". Each such row counts as one token. "":
  // rows of tokens.
  std::string row_text = "";
  int64_t row_values = 1;  // numbers in a row that is not made of tokens: pixels times channels
  // The sides of square training images, in pixels, ascending, if their size changes during the run. Each shape then
  // exists once for each side, with the axis kSide, and Examples::side_of_step chooses the side of a step. Empty: all
  // training images have one size.
  std::vector<int64_t> sides = {};
  // True: if the head in the checkpoint has another shape than the task needs, a new head replaces it.
  bool replaces_head = false;
  // Returns the limits of the key-value cache for generating texts in evaluations. `source_tokens`: tokens of the
  // longest source. `rows`: texts generated at the same time. Null: the run does not generate texts.
  std::function<CacheLimits(int64_t source_tokens, int64_t rows)> generation = nullptr;
};

// Builds the programs of a loss that compares all rows of a step with each other, such as a contrastive loss. A step
// with several micro-batches or ranks has three parts (GradCache, Gao et al. 2021, arXiv 2101.06983): `embed` computes
// the embeddings of all rows; `loss` computes the loss and its gradient with respect to the embeddings; `part` computes
// the gradients of the weights for each micro-batch. The loss equals that of one micro-batch with all rows.
struct JointLoss {
  using Build =
      std::function<Program(const ModelConfig&, const BatchShape&, const std::string& name)>;
  // Builds the forward pass of training. Inputs: those of Task::program. Output: `embeddings`, the same number of
  // floats for each row of the shape.
  Build embed;
  // Builds the program of a micro-batch's gradients. Inputs: those of `embed`, and `gradient` in the shape of
  // `embeddings`. Output: `loss`, the sum of embeddings * gradient.
  Build part;
  // Builds the loss of all rows of a step. `rows`: their number. State: `embeddings` of all rows. Inputs: scale f32[],
  // the factor of the loss, and those that Examples::collate_joint fills. Output: `loss`.
  std::function<Program(const ModelConfig&, int64_t rows, const std::string& name)> loss;
};

// The arguments of check_rows.
struct CheckRequest {
  const Pretrained& model;
  ThreadPool& pool;
  int64_t samples = 0;              // number of training rows to return as samples
  std::vector<std::string>& notes;  // receives notes on the data, one sentence each
};

struct Task {
  std::string name, summary;  // "clm"; "causal language modelling"
  // True: --preset chooses this object, which is another task with preset settings. False: --task chooses it.
  bool is_preset = false;
  // The metric of evaluations by which models are compared, unless --metric_for_best_model names another.
  std::string metric = "loss";
  // Returns the names of all metrics of an evaluation.
  std::function<std::vector<std::string>()> metrics = token_metric_names;
  // Returns the metric by which models are compared on the rows that the settings name, if it depends on these rows.
  // Null: it is always `metric`.
  std::function<Result<std::string>()> metric_of_rows = nullptr;
  std::optional<SampleProject> sample;  // nullopt: hone init has no sample project for the task
  // The settings of this run; the functions below share them. The object may derive from TaskSettings.
  std::shared_ptr<TaskSettings> settings;
  std::function<void(Schema&)> bind;  // adds the flags that only this task has to a schema
  // Checks the task's settings and derives settings from others. Called once, after command-line flags and settings
  // files are read. `schema` knows which settings the user gave.
  std::function<Status(const Schema&)> settle = [](const Schema&) { return Ok{}; };

  // Sets the model's head to the one that the task trains, and its labels if the settings determine them. Called before
  // the weights are read. Returns an Error if the model family has no such head.
  std::function<Status(ModelConfig&)> choose_head;
  // Returns the form of the run's rows. Errors: those of the model's generation config.
  std::function<Result<RunForm>(const Pretrained&)> form;
  // Builds the program of a micro-batch, before any pass. Examples::collate fills its inputs. A training program has
  // two more inputs, rng i64[2] = {seed, step} and scale f32[] = 1 / Examples::normaliser of the optimizer step, and
  // the output `loss` f32[]. An evaluation program has the outputs that the task's metrics use.
  std::function<Program(const ModelConfig&, const BatchShape&, const std::string& name, bool train)>
      program;
  // Set if the loss compares rows with each other. nullopt: the loss is a sum over rows.
  std::optional<JointLoss> joint;
  // Reads the rows that the settings name or, if the task trains on plain text, the rows of the source. May change the
  // model's config (labels), tokenizer and generation config. The model must outlive the examples. Errors name the
  // file, flag or tensor.
  std::function<Result<Examples>(Pretrained&, const ExampleSource&)> examples;

  // For hone prepare and --streaming. `text` is set if the task trains on plain text. `prepared` is set if its rows
  // have several columns and can be prepared.
  std::optional<TextSource> text;
  std::optional<PreparedSource> prepared;
  bool reads_text = true;  // true: the task's models have tokenizers
  bool predicts = false;   // true: the task supports --do_predict
  // True: the embeddings grow if the tokenizer has more tokens than the model, as in Transformers' example script of
  // the task, unless a setting decides otherwise.
  bool resizes_embeddings = false;

  // For hone check. check_rows adds findings of faults of the rows; check_settings adds findings of faults of the
  // task's own settings.
  std::function<RowsReport(const CheckRequest&, Findings&)> check_rows;
  std::function<void(const Pretrained&, const RowsReport&, Findings&)> check_settings =
      [](const Pretrained&, const RowsReport&, Findings&) {};
  // Returns the name of the format in which the task reads these files; "": the format that their names imply.
  std::function<std::string(const std::vector<std::string>& files)> file_format =
      [](const std::vector<std::string>&) { return std::string(); };
};

// Returns H2411 if --metric_for_best_model is unknown but similar to the name of a metric of the task, so probably
// misspelled. Other unknown names are refused after the first evaluation, because an evaluation may have more metrics
// than Task::metrics lists.
Status check_best_metric(const Task& task);

// A read-only schema of all settings of the task with their values. `command`: the name of the command in messages.
Schema described(const Task& task, const std::string& command = "hone train");

}  // namespace hone

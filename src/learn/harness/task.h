// A task: data and functions that say what is learnt from which rows. A file x.cc of learn/tasks
// that defines `Task task_x();` is one, and --task names it; everything that all runs share
// (task_run.h) takes what it needs from here.
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

namespace hone {

class Findings;
struct RowsReport;

// The longest row on an axis, and the flag that decides it.
struct RowLimit {
  std::string axis;    // of the examples: "tokens", "source_tokens", ...
  int64_t tokens = 0;  // never more than the model has positions
  std::string flag;    // without dashes
  int64_t given = 0;   // 0: the flag was not given
};

// What settings and model say of a run before any data are read.
struct RunForm {
  std::vector<RowLimit> limits;  // by axis
  // Rows of any length; false: blocks of limits[0].tokens each.
  bool packs_rows = true;
  // A step whose rows fit one micro-batch never needs a second one. If false, that takes a shape that
  // holds any rows and labels of a step. It is chosen only if it takes no more memory than gradients
  // that are kept from one micro-batch to the next.
  bool even_steps = false;
  // The program of the usual number of labels may be too small for a micro-batch: the axis "labels"
  // of a shape then gives room for more.
  bool labels_vary = false;
  bool replaces_head = false;  // a checkpoint's head of another shape gives way to a new one
  // What generating texts in evaluations needs, for sources of at most this number of tokens and
  // `rows` rows; null: the run generates none.
  std::function<CacheLimits(int64_t source_tokens, int64_t rows)> generation = nullptr;
};

// What check_rows gets.
struct CheckRequest {
  const Pretrained& model;
  ThreadPool& pool;
  int64_t samples = 0;              // rows to show
  std::vector<std::string>& notes;  // gets what was read, a sentence each
};

struct Task {
  std::string name, summary;            // "clm", "causal language modelling"
  bool is_preset = false;               // of another task: --preset names it
  std::string metric = "loss";          // of evaluations: compares models unless another is named
  std::optional<SampleProject> sample;  // none: hone init does not offer the task
  std::shared_ptr<TaskSettings> settings;  // those of every task; the functions share them
  std::function<void(Schema&)> bind;       // the flags of this task alone
  // After flags and files are read: settings that follow from others.
  std::function<Status(const Schema&)> settle = [](const Schema&) { return Ok{}; };

  // The head that the task trains, and its labels where the settings know them; asked before the
  // weights of the model are. An Error when the family has no such head.
  std::function<Status(ModelConfig&)> choose_head;
  // Errors: those of the model's generation config.
  std::function<Result<RunForm>(const Pretrained&)> form;
  // The program of a micro-batch before any pass. Its inputs are those that collate fills, and in
  // training rng i64[2] = {seed, step}, scale f32[] = 1 / normaliser of the optimizer step. Output
  // `loss` f32[] in training; what evaluation gives is for the task's metrics.
  std::function<Program(const ModelConfig&, const BatchShape&, const std::string& name, bool train)>
      program;
  // The rows that the settings name or, for a task that trains on plain text, the rows that the
  // source gives. May change the model's config (labels), tokenizer and generation config. The model
  // outlives the examples. Errors name file, flag or tensor.
  std::function<Result<Examples>(Pretrained&, const ExampleSource&)> examples;

  // For hone prepare and --streaming: how rows are made of texts, or of rows with several columns.
  std::optional<TextSource> text;
  std::optional<PreparedSource> prepared;
  bool predicts = false;  // has rows to predict (--do_predict)

  // For hone check: what is wrong with the rows, and with settings that others do not have.
  std::function<RowsReport(const CheckRequest&, Findings&)> check_rows;
  std::function<void(const Pretrained&, const RowsReport&, Findings&)> check_settings =
      [](const Pretrained&, const RowsReport&, Findings&) {};
  // The format in which the task reads these files, if it is not what their names say.
  std::function<std::string(const std::vector<std::string>& files)> file_format =
      [](const std::vector<std::string>&) { return std::string(); };
};

// All settings of the task with their values, to be read.
Schema described(const Task& task, const std::string& command = "hone train");

}  // namespace hone

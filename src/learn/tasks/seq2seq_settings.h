// The settings that summarization, translation and generative question answering share, as in Transformers' example
// scripts run_summarization and run_translation, and a description of each of these tasks (Seq2Seq).
#pragma once

#include "learn/data/rows/pair_rows.h"
#include "learn/harness/task.h"
#include "learn/pretrained/pretrained.h"
#include "learn/tokenizers/load/load.h"

namespace hone {

struct Seq2SeqSettings : TaskSettings {
#define HONE_SETTINGS "learn/tasks/seq2seq_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  // The largest number of tokens of a target by the settings. `training`: true: in training; false: in evaluations.
  int64_t target_length(bool training) const {
    return training || val_max_target_length == 0 ? max_target_length : val_max_target_length;
  }
  // The largest number of tokens of a text that an evaluation generates, including the start token of the decoder.
  int64_t generated_length() const { return generation_max_length.value_or(target_length(false)); }
  // The largest number of tokens of a source.
  int64_t source_tokens(const ModelConfig& config) const {
    return std::min(max_source_length, config.max_positions);
  }
};

// The files of a split, and the functions that encode their texts.
struct PairSource {
  std::string split;  // "train", "validation", "test"
  std::vector<std::string> files;
  int64_t limit = -1;          // the most rows to read; below 0: all
  const PairOptions& options;  // has the functions
};

// The description of a task. Its functions are called after the flags were read.
struct Seq2Seq {
  std::string name, summary;  // see Task
  std::shared_ptr<Seq2SeqSettings> settings;
  // Adds the flags of `settings` and those that only this task has.
  std::function<void(Schema&)> bind;
  // Returns an Error if flags do not fit together.
  std::function<Status()> check = [] { return Ok{}; };
  std::function<PairColumnOptions()> wanted;  // returns the columns of source and target
  // Returns the options for the tokenizer. `targets` true: for the targets; false: for the sources.
  std::function<TokenizerSide(bool targets)> side;
  // Returns the number of beams in evaluations from a flag that only this task has; nullopt: that flag is not set. See
  // num_beams().
  std::function<std::optional<int64_t>()> beams;
  std::string metric;       // name of the metric of generated texts: "rouge"
  std::string compared_by;  // the value of that metric by which models are compared: "rougeLsum"
  // nullopt: hone init has no sample project for the task.
  std::optional<SampleProject> sample = {};
  // Returns the folder of NLTK's data, for splitting texts into sentences; "": not given.
  std::function<std::string()> nltk_folder = [] { return std::string(); };
  // Reads rows whose source and target are not in two columns. Null: the columns of `wanted` are read.
  std::function<Result<PairRows>(const PairSource&)> read = nullptr;
  // Computes the metrics of generated texts instead of `metric`. `texts`: one for each row, in order. `predicted` true:
  // the texts belong to the rows to predict; false: to the rows to evaluate. Null: `metric` is used.
  std::function<OrderedJson(bool predicted, std::span<const std::string> texts)> score = nullptr;
  // task_key returns the task's key in task_specific_params of config.json: "summarization". usual_prefix returns the
  // prefix by which T5 knows the task: "summarize: ".
  std::function<std::string()> task_key, usual_prefix;

  // The number of beams in evaluations: that of beams() or, if it is nullopt, generation_num_beams. nullopt: neither is
  // set, and the number in the model's generation config is used.
  std::optional<int64_t> num_beams() const {
    return beams() ? beams() : settings->generation_num_beams;
  }
};

// The tokenizers of sources and targets. For Marian they may have different vocabularies. For mBART they add different
// language codes. For other models the two tokenizers are equal.
struct PairTokenizers {
  Tokenizer sources, targets;
};
// Opens the tokenizers of the model or of --tokenizer_name. Errors: those of open_tokenizer; H2413 the model has no
// tokenizer.
Result<PairTokenizers> open_pair_tokenizers(const Seq2Seq& q, const Pretrained& model);

// A text in front of each source by which a model knows its task, such as "summarize: ".
struct TaskPrefix {
  std::string text;
  // True: the text is from the model's config.json. False: it is Seq2Seq::usual_prefix.
  bool of_checkpoint = false;
};
// The prefix of the task for this model. nullopt: config.json has no prefix for the task, and the model is not a T5.
std::optional<TaskPrefix> task_prefix(const Seq2Seq& q, const ModelConfig& config);

}  // namespace hone

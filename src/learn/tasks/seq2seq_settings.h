// The settings that summarization and translation share, as in Transformers' example scripts run_summarization and
// run_translation, and a description of the differences of the tasks.
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
  // The largest number of tokens of a target by the settings, in training or in evaluations.
  int64_t target_length(bool training) const {
    return training || val_max_target_length == 0 ? max_target_length : val_max_target_length;
  }
  // The largest number of tokens of a text that an evaluation generates. The start token counts.
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
  int64_t limit = -1;  // the most rows to read; below 0: all
  const PairOptions& options;
};

// The description of a task. Its functions are called after the flags were read.
struct Seq2Seq {
  std::string name, summary;  // see Task
  std::shared_ptr<Seq2SeqSettings> settings;
  // Adds the flags of `settings` and those that only this task has.
  std::function<void(Schema&)> bind;
  std::function<Status()> check = [] { return Ok{}; };  // an Error if flags do not fit together
  std::function<PairColumnOptions()> wanted;            // the columns of source and target
  // Options for the tokenizer of sources or targets.
  std::function<TokenizerSide(bool targets)> side;
  // The number of beams in evaluations. nullopt: generation_num_beams, else the number of the model's generation
  // config.
  std::function<std::optional<int64_t>()> beams;
  std::string metric;       // name of the metric of generated texts: "rouge"
  std::string compared_by;  // the value of the metric that compares models: "rougeLsum"
  // nullopt: hone init has no sample project for the task.
  std::optional<SampleProject> sample = {};
  // The folder of NLTK's data, for splitting texts into sentences; "": not given.
  std::function<std::string()> nltk_folder = [] { return std::string(); };
  // Reads rows that are not in two columns. Null: the columns of `wanted` are read.
  std::function<Result<PairRows>(const PairSource&)> read = nullptr;
  // Computes the metrics of generated texts instead of `metric`. `predicted`: the texts are those of the rows to
  // predict, else of the rows to evaluate. Null: `metric` is used.
  std::function<OrderedJson(bool predicted, std::span<const std::string> texts)> score = nullptr;
  // task_key: the task's key in task_specific_params of config.json. usual_prefix: the prefix by which T5 knows the
  // task.
  std::function<std::string()> task_key, usual_prefix;

  // The number of beams that the settings give; nullopt: the number of the model's generation config.
  std::optional<int64_t> num_beams() const {
    return beams() ? beams() : settings->generation_num_beams;
  }
};
// The tokenizers of sources and targets. They are different for Marian. For mBART they add different language codes.
// For other models they are equal.
struct PairTokenizers {
  Tokenizer sources, targets;
};
// Opens the tokenizers of the model or of --tokenizer_name. Errors: those of open_tokenizer; H2413 the model has no
// tokenizer.
Result<PairTokenizers> open_pair_tokenizers(const Seq2Seq& q, const Pretrained& model);

// A text before each source that tells the model its task, such as "summarize: ".
struct TaskPrefix {
  std::string text;
  // The text is from the model's config.json; false: it is Seq2Seq::usual_prefix.
  bool of_checkpoint = false;
};
// nullopt: config.json has no prefix for the task, and the model is not a T5.
std::optional<TaskPrefix> task_prefix(const Seq2Seq& q, const ModelConfig& config);

}  // namespace hone

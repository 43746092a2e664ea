// Settings that summarization and translation share (run_summarization, run_translation), and their
// differences.
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
  int64_t target_length(bool training) const {
    return training || val_max_target_length == 0 ? max_target_length : val_max_target_length;
  }
  // Tokens of a text that evaluation generates, the start token among them.
  int64_t generated_length() const { return generation_max_length.value_or(target_length(false)); }
  int64_t source_tokens(const ModelConfig& config) const {
    return std::min(max_source_length, config.max_positions);
  }
};

// The files of a split, and the functions that make tokens of their texts.
struct PairSource {
  std::string split;  // "train", "validation", "test"
  std::vector<std::string> files;
  int64_t limit = -1;  // rows at most; < 0: all
  const PairOptions& options;
};

// Differences of the tasks; the functions are called after the flags were read.
struct Seq2Seq {
  std::string name, summary;
  std::shared_ptr<Seq2SeqSettings> settings;
  std::function<void(Schema&)> bind;                    // of settings and of the task's own
  std::function<Status()> check = [] { return Ok{}; };  // flags that fit together
  std::function<PairColumnOptions()> wanted;
  std::function<TokenizerSide(bool targets)> side;
  // None: generation_num_beams, else the model's.
  std::function<std::optional<int64_t>()> beams;
  std::string metric;       // of the shelf
  std::string compared_by;  // the value of it that compares models
  std::optional<SampleProject> sample = {};
  std::function<std::string()> nltk_folder = [] { return std::string(); };
  // Replaces the columns of `wanted`: rows in another form. Null: columns.
  std::function<Result<PairRows>(const PairSource&)> read = nullptr;
  // Replaces `metric` for generated texts, those of the rows to evaluate or to predict in their order. Null: the metric.
  std::function<OrderedJson(bool predicted, std::span<const std::string> texts)> score = nullptr;
  // The key of config.json's task_specific_params, and the words that T5 knows the task by.
  std::function<std::string()> task_key, usual_prefix;

  std::optional<int64_t> num_beams() const {
    return beams() ? beams() : settings->generation_num_beams;
  }
};
// The tokenizers of both sides: Marian's differ, mBART's differ in the codes that they add.
struct PairTokenizers {
  Tokenizer sources, targets;
};
// The tokenizer of the model, or of --tokenizer_name. Errors: those of open_tokenizer, H2413
// without one.
Result<PairTokenizers> open_pair_tokenizers(const Seq2Seq& q, const Pretrained& model);

// The words before a text that tell the model its task.
struct TaskPrefix {
  std::string text;
  bool of_checkpoint = false;  // config.json says them; else what T5 usually knows the task by
};
// None: the model's config names none, and it is not a T5.
std::optional<TaskPrefix> task_prefix(const Seq2Seq& q, const ModelConfig& config);

}  // namespace hone

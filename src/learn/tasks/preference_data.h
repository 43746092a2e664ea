// Reads the rows of preference tasks, such as DPO, from the data that the flags name: prompts with a chosen and a
// rejected answer, or with one answer and a label.
#pragma once

#include <algorithm>
#include <optional>

#include "learn/check/check_rows.h"
#include "learn/data/rows/labelled_rows.h"
#include "learn/data/rows/preference_rows.h"
#include "learn/harness/prepared_source.h"
#include "learn/harness/task.h"
#include "learn/tasks/sft_encode.h"

namespace hone {

struct PreferenceSettings : TaskSettings {
#define HONE_SETTINGS "learn/tasks/preference_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  // The largest number of tokens of a prompt with an answer: --max_length, by default 1024, but never more than the
  // model's positions.
  int64_t row_tokens(const ModelConfig& config) const {
    return std::min(max_length > 0 ? max_length : int64_t{1024}, config.max_positions);
  }
};

// A prompt with an answer: tokens, and a label for each token. A label is the token's id, or -100 in the prompt.
struct EncodedAnswer {
  std::vector<int32_t> ids, labels;
  int64_t prompt = 0;  // number of tokens before the first one with a label

  void cut(int64_t most);  // keeps the first `most` tokens
};

struct PreferenceCounts {
  int64_t rows_read = 0;
  int64_t rows_cut = 0;   // rows of which an answer was longer than allowed
  int64_t rows_long = 0;  // rows that are left out because they are too long
};

struct PreferenceSplit {
  // The tokens of a row are one answer with its prompt or, for pairs, the chosen answer with its prompt and then the
  // rejected answer with its prompt. labels.classes: for pairs, number of tokens of the chosen part; else see
  // PreferenceForm::Rows::labels. labels.values: the margins of the data; empty: the data have none.
  LabelledRows data;
  // By row, the first answer before it is cut. Only with PreferenceForm::keeps_whole.
  std::vector<EncodedAnswer> whole;
  PreferenceCounts counts;
};

// The form of a task's rows.
struct PreferenceForm {
  enum class Rows {
    pairs,  // a prompt with two answers. Both are cut. A row without room for an answer is left out
    whole_pairs,  // two texts, all of whose tokens have labels. A row with a text that is too long is left out
    labels,  // a prompt with one answer. labels.classes is 1 if the answer is wanted, else 0
  } rows = Rows::pairs;
  bool keeps_whole = false;                  // fill PreferenceSplit::whole
  std::string task = "";                     // name of the task: "dpo"
  std::function<Schema()> schema = nullptr;  // returns the task's settings, for prepared rows
};

struct PreferenceData {
  std::optional<PreferenceSplit> train, eval;
  int64_t train_rows = 0;          // number of training rows before any selection
  std::vector<std::string> notes;  // notes for the summary of the run, one sentence each
  // Text of the template that --chat_template_path names; "": the model's own.
  std::string chat_template;
};

// Reads the rows that the settings want. Errors: those of data_flags.h, preference_rows.h and sft_encode.h; H2113 no
// row is left; H2413 the model has no tokenizer.
Result<PreferenceData> read_preferences(const PreferenceSettings& s, const PreferenceForm& form,
                                        const Pretrained& model, ThreadPool& pool);

// The functions with which hone prepare makes the rows. A shard has for each row its ids, which are not cut if
// PreferenceForm::keeps_whole, and these lists:
//
//   labels   a label for each token
//   answer   the row's value in labels.classes of PreferenceSplit::data
//   margin   the bits of the row's margin as a float; 0 if it has none
PreparedSource preference_source(const std::shared_ptr<PreferenceSettings>& s,
                                 const PreferenceForm& form);

// Checks the rows, for hone check: token ids, rows that are cut or left out, and pairs of equal answers.
RowsReport check_preferences(const PreferenceSettings& s, const PreferenceForm& form,
                             const CheckRequest& request, Findings& findings);

// Packs rows into the inputs of a program. Each row is two sequences if `pairs`, else one. T: tokens, S: rows. Fills
// ids, positions and cu_seqlens, and each of these inputs that the program has:
//
//   sample_ids i64[T]      twice the number of the row, plus 1 for its second sequence
//   labels i32[T]          the next token, if it belongs to an answer; else -100. Not changed with AnswerLabels::none
//   answers i32[T]         the index of the sequence of each label; -1 for a token without a label
//   answer_tokens f32[2S]  number of tokens of each answer, at least 1
//   last_rows i32[2S]      index of the last token of each sequence that is not the token `padding`; -1: no sequence
//   weight f32[S]          1 for a row, 0 for no row
//
// Errors: H0117 the file of the rows was changed.
enum class AnswerLabels { next_tokens, none };
Status collate_answers(const TokenRows& data, const RowLabels& labels, const BatchRows& rows,
                       bool pairs, int64_t padding, Batch& to,
                       AnswerLabels learns = AnswerLabels::next_tokens);

// The sample project of preference tasks: rows of a prompt, its right answer, and a wrong answer.
SampleProject preference_sample();

}  // namespace hone

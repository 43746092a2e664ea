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

// A prompt with an answer, as tokens.
struct EncodedAnswer {
  // ids: the tokens of the prompt, then those of the answer. labels: for each token -100 in the prompt, and the token's
  // id in the answer.
  std::vector<int32_t> ids, labels;
  int64_t prompt = 0;  // number of tokens of the prompt

  void cut(int64_t most);  // keeps the first `most` tokens
};

struct PreferenceCounts {
  int64_t rows_read = 0;  // rows of the files
  int64_t rows_cut = 0;   // used rows in which a prompt with its answer was cut
  int64_t rows_long = 0;  // rows that are left out because they are too long (PreferenceForm::Rows)
};

struct PreferenceSplit {
  // The tokens of a row: one prompt with its answer or, for pairs, first the prompt with the chosen answer, then the
  // prompt with the rejected answer.
  //   labels.tags      EncodedAnswer::labels of all tokens
  //   labels.classes   for pairs: number of tokens of the prompt with the chosen answer; otherwise 1 for a wanted
  //                    answer and 0 for an unwanted one
  //   labels.values    the margin of each row, from the data; empty: the data have no margins
  LabelledRows data;
  // With PreferenceForm::keeps_whole: for each row its prompt with its (chosen) answer, before it is cut. Otherwise
  // empty.
  std::vector<EncodedAnswer> whole;
  PreferenceCounts counts;
};

// The form of a task's rows. The limit of tokens is PreferenceSettings::row_tokens().
struct PreferenceForm {
  enum class Rows {
    // A prompt with a chosen and a rejected answer. Each prompt with its answer is cut to the limit. A row whose prompt
    // reaches the limit is left out.
    pairs,
    // A chosen and a rejected text; all their tokens have labels. If the data have prompts, each text is the prompt
    // with the answer. A row with a text above the limit is left out.
    whole_pairs,
    // A prompt with one answer that is wanted or not. Rows are cut and left out as for `pairs`.
    labels,
  } rows = Rows::pairs;
  bool keeps_whole = false;                  // true: fill PreferenceSplit::whole
  std::string task = "";                     // name of the task: "dpo"
  std::function<Schema()> schema = nullptr;  // returns the task's settings, for prepared rows
};

struct PreferenceData {
  std::optional<PreferenceSplit> train, eval;  // nullopt: the settings do not need the split
  int64_t train_rows = 0;                      // number of training rows before any selection
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
//   labels   the label of each token, as in EncodedAnswer
//   answer   the row's value in labels.classes of PreferenceSplit::data
//   margin   the row's margin as the bits of a float; 0 if it has none
PreparedSource preference_source(const std::shared_ptr<PreferenceSettings>& s,
                                 const PreferenceForm& form);

// Checks the rows, for hone check: token ids, rows that are cut or left out, and pairs of equal answers.
RowsReport check_preferences(const PreferenceSettings& s, const PreferenceForm& form,
                             const CheckRequest& request, Findings& findings);

// The label inputs that collate_answers() fills. next_tokens: the input `labels`. none: the caller fills `labels`.
enum class AnswerLabels { next_tokens, none };
// Packs rows into the inputs of a program. Each row is two sequences if `pairs`, else one. T: tokens, S: rows, N:
// sequences, which is 2S for pairs and else S. Fills ids, positions, cu_seqlens and (with AnswerLabels::next_tokens)
// labels. Fills the other inputs below if the program has them:
//
//   sample_ids i64[T]     twice the number of the row, plus 1 for its second sequence; -1 after the last row
//   labels i32[T]         the next token, if it belongs to an answer; else -100
//   answers i32[T]        the index of the sequence of each label; -1 for a token without a label
//   answer_tokens f32[N]  number of tokens of the answer of each sequence, at least 1
//   last_rows i32[N]      index among the T tokens of the last token of each sequence that is not the token `padding`;
//                         if all are `padding`, of its last token; -1: no sequence
//   weight f32[S]         1 for a row, 0 for no row
//
// `padding`: id of the padding token; -1: none. Errors: H0117 the file of the rows was changed.
Status collate_answers(const TokenRows& data, const RowLabels& labels, const BatchRows& rows,
                       bool pairs, int64_t padding, Batch& to,
                       AnswerLabels learns = AnswerLabels::next_tokens);

// The sample project of preference tasks: rows of a prompt, its right answer, and a wrong answer.
SampleProject preference_sample();

}  // namespace hone

// Turns the data flags of preference tasks into rows of tokens.
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
  // Tokens of a prompt with an answer; never more than the model has.
  int64_t row_tokens(const ModelConfig& config) const {
    return std::min(max_length > 0 ? max_length : int64_t{1024}, config.max_positions);
  }
};

// A prompt with an answer: tokens, and a label for each, -100 in the prompt.
struct EncodedAnswer {
  std::vector<int32_t> ids, labels;
  int64_t prompt = 0;  // tokens before the first that is learnt

  void cut(int64_t most);
};

struct PreferenceCounts {
  int64_t rows_read = 0;
  int64_t rows_cut = 0;   // longer than allowed
  int64_t rows_long = 0;  // left out
};

struct PreferenceSplit {
  // A row is one answer with its prompt, or both: the chosen one first, `classes` its number of tokens.
  // `values`: margins, if the data have them.
  LabelledRows data;
  std::vector<EncodedAnswer> whole;  // before the cut, by row; if the form asks for it
  PreferenceCounts counts;
};

struct PreferenceForm {
  enum class Rows {
    pairs,  // a prompt with two answers, both cut; a row without room for an answer is left out
    whole_pairs,  // two whole texts, all of which count; a row with a longer text is left out
    labels,       // a prompt with one answer; `classes` is 1 if it is wanted
  } rows = Rows::pairs;
  bool keeps_whole = false;
  std::string task = "";                     // "dpo"
  std::function<Schema()> schema = nullptr;  // its settings, for prepared rows
};

struct PreferenceData {
  std::optional<PreferenceSplit> train, eval;
  int64_t train_rows = 0;          // before any selection
  std::vector<std::string> notes;  // for the summary of the run
  std::string chat_template;       // that --chat_template_path names; "": the model's own
};

// The rows that the settings want. Errors: those of data_flags.h, preference_rows.h and sft_encode.h;
// H2413 without a tokenizer; H2113 if no row is left.
Result<PreferenceData> read_preferences(const PreferenceSettings& s, const PreferenceForm& form,
                                        const Pretrained& model, ThreadPool& pool);

// The source of rows for hone prepare. A shard has beside the ids of a row, which is not cut if the form
// keeps the whole:
//
//   labels   its tags
//   answer   PreferenceSplit's class of the row
//   margin   the bits of its value, 0 without one
PreparedSource preference_source(const std::shared_ptr<PreferenceSettings>& s,
                                 const PreferenceForm& form);

// For hone check.
RowsReport check_preferences(const PreferenceSettings& s, const PreferenceForm& form,
                             const CheckRequest& request, Findings& findings);

// Packs rows of two answers: `cu_seqlens` has two sequences for each row, then the slack. Fills ids,
// positions, sample_ids if the program has them, and what else the program has of
//
//   labels i32[T]         the next token of an answer, -100 elsewhere; not touched with AnswerLabels::none
//   answers i32[T]        the sequence of each label, -1 elsewhere
//   answer_tokens f32[2S] tokens of each answer, at least 1
//   last_rows i32[2S]     the last token of each sequence that is not `padding`, -1 of empty ones
//   weight f32[S]         1 for a row, 0 for none
enum class AnswerLabels { next_tokens, none };
Status collate_answers(const TokenRows& data, const RowLabels& labels, const BatchRows& rows,
                       bool pairs, int64_t padding, Batch& to,
                       AnswerLabels learns = AnswerLabels::next_tokens);

// Rows of a prompt, the answer that follows from it, and another one.
SampleProject preference_sample();

}  // namespace hone

// Reads the rows of multiple choice: each has a context and several endings, of which one is right. A choice is the
// context with one ending.
#pragma once

#include <algorithm>
#include <optional>

#include "learn/harness/task.h"
#include "learn/tasks/text_rows.h"

namespace hone {

struct MultipleChoiceSettings : TaskSettings {
#define HONE_SETTINGS "learn/tasks/multiple_choice_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { bind(schema); }
  // The largest number of tokens of a choice: --max_seq_length, by default 1024, but never more than the model's
  // positions.
  int64_t choice_tokens(const ModelConfig& config) const {
    return std::min(max_seq_length > 0 ? max_seq_length : int64_t{1024}, config.max_positions);
  }
};

struct MultipleChoiceData {
  // Each choice is a sequence of its row. The label of a row is the index of the right choice, from 0; the rows of
  // `test` are rows to predict and have no label. nullopt: the settings do not need the split.
  std::optional<TextRows> train, eval, test;
  int64_t train_rows = 0;          // number of training rows before any selection
  std::vector<std::string> notes;  // notes for the summary of the run, one sentence each
};

// The number of choices of a row, from the first row of the data or from the manifest of prepared shards. Errors:
// those of data_flags.h; H2109 a column is missing, or there are fewer than two endings; H2113 there are no rows.
Result<int64_t> count_choices(const MultipleChoiceSettings& s);
// Reads the rows that the settings want, each with `choices` choices. Errors: those of text_rows.h and row_shards.h;
// H2110 a cell is a list; H2121 a label is not the index of a choice; H2413 the model has no tokenizer.
Result<MultipleChoiceData> read_multiple_choice(const MultipleChoiceSettings& s,
                                                const Pretrained& model, ThreadPool& pool);

// The functions with which hone prepare makes the rows. A shard has for each row the ids of its choices, one after the
// other, and these lists:
//
//   lengths  number of tokens of each choice
//   types    the token type of each token; empty: all are 0
//   label    the index of the right choice; empty in rows to predict
PreparedSource multiple_choice_source(const std::shared_ptr<MultipleChoiceSettings>& s);

}  // namespace hone

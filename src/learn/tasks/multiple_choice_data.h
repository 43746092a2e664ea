// Rows of several choices, of which one is right: a context, and endings that may follow it.
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
  // Tokens of a choice with its context; never more than the model has.
  int64_t choice_tokens(const ModelConfig& config) const {
    return std::min(max_seq_length > 0 ? max_seq_length : int64_t{1024}, config.max_positions);
  }
};

// TextRows::texts choices a row; `labels`: the right one of each row, none in rows to predict.
struct MultipleChoiceData {
  std::optional<TextRows> train, eval, test;
  int64_t train_rows = 0;          // before any selection
  std::vector<std::string> notes;  // for the summary of the run
};

// The number of choices of the rows that the settings name, from the first row or the shards' manifest.
// Errors: those of data_flags.h; H2109 a column is missing, or there are fewer than two endings; H2113 no rows.
Result<int64_t> count_choices(const MultipleChoiceSettings& s);
// The rows that the settings want, each of `choices` choices. Errors: those of text_rows.h and
// row_shards.h; H2110 a cell holds a list; H2121 a label is not the number of a choice; H2413 without a tokenizer.
Result<MultipleChoiceData> read_multiple_choice(const MultipleChoiceSettings& s,
                                                const Pretrained& model, ThreadPool& pool);

// The source of rows for hone prepare. A shard has beside the ids of a row, which are those of its
// choices one after the other:
//
//   lengths  tokens of each choice
//   types    token types
//   label    the right choice; empty in rows to predict
PreparedSource multiple_choice_source(const std::shared_ptr<MultipleChoiceSettings>& s);

}  // namespace hone

// Reads the rows of token classification (--task ner) from the data that the flags name. A row is a list of words, each
// with a label.
#pragma once

#include <algorithm>
#include <optional>

#include "learn/data/rows/tagged_rows.h"
#include "learn/harness/task.h"

namespace hone {

struct NerSettings : TaskSettings {
#define HONE_SETTINGS "learn/tasks/ner_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { bind(schema); }
  // The largest number of tokens of a row: --max_seq_length, by default the model's positions, and never more than the
  // model's positions.
  int64_t row_tokens(const ModelConfig& config) const {
    return std::min(max_seq_length > 0 ? max_seq_length : config.max_positions,
                    config.max_positions);
  }
};

struct NerData {
  LabelMap map;                        // the labels of the run
  std::optional<Tokenizer> tokenizer;  // the model's tokenizer, changed to encode single words
  // `eval`: `evaluated` rows to evaluate, then the rows to predict. nullopt: the settings need none of these rows.
  std::optional<LabelledRows> train, eval;
  LabelCounts train_counts, eval_counts;
  // train_rows: number of training rows before any selection. evaluated: number of rows to evaluate.
  int64_t train_rows = 0, evaluated = 0;
  bool test_tagged = true;         // true: the rows to predict have labels
  std::vector<std::string> notes;  // notes for the summary of the run, one sentence each
};

// Reads the rows that the settings want. Errors: those of data_flags.h, tagged_rows.h and label_map.h; H2121 labels are
// numbers that are not whole; H2413 the model has no tokenizer.
Result<NerData> read_ner(const NerSettings& s, const Pretrained& model, ThreadPool& pool);

// The functions with which hone prepare makes the rows.
PreparedSource ner_source(const std::shared_ptr<NerSettings>& s);

}  // namespace hone

// Turns the data flags of token classification into rows of words with labels.
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
  int64_t row_tokens(const ModelConfig& config) const {
    return std::min(max_seq_length > 0 ? max_seq_length : config.max_positions,
                    config.max_positions);
  }
};

struct NerData {
  LabelMap map;
  std::optional<Tokenizer> tokenizer;  // the model's, for words
  // Rows of `eval`: the evaluated rows, then the rows to predict.
  std::optional<LabelledRows> train, eval;
  LabelCounts train_counts, eval_counts;
  int64_t train_rows = 0, evaluated = 0;  // the first: before any selection
  bool test_tagged = true;                // the rows to predict have labels
  std::vector<std::string> notes;         // for the summary of the run
};

// The rows that the settings want. Errors: those of data_flags.h, tagged_rows.h and label_map.h;
// H2121 labels that are fractions; H2413 without a tokenizer.
Result<NerData> read_ner(const NerSettings& s, const Pretrained& model, ThreadPool& pool);

// The source of rows for hone prepare: the settings that decide the rows, and the rows.
PreparedSource ner_source(const std::shared_ptr<NerSettings>& s);

}  // namespace hone

// Reads the rows and labels of classification from the data that the flags name.
#pragma once

#include <optional>

#include "learn/data/rows/labelled_rows.h"
#include "learn/tasks/classification_settings.h"

namespace hone {

struct ClassificationData {
  LabelMap map;  // the labels of the run
  // The selected rows; nullopt: the settings do not need the split. `eval` has four parts in this order: `matched`
  // rows to evaluate, `mismatched` more rows to evaluate (the second validation set of MNLI), then `test` and
  // `test_mismatched` rows to predict, which have no labels.
  std::optional<LabelledRows> train, eval;
  int64_t train_rows_labelled = 0;  // number of training rows before any selection
  // Names of the text columns. Empty: the columns are those of the GLUE task, or the rows are prepared and their shards
  // do not name them.
  std::vector<std::string> columns;
  // Numbers of rows in the four parts of `eval`.
  int64_t matched = 0, mismatched = 0, test = 0, test_mismatched = 0;
  std::vector<std::string> notes;  // notes for the summary of the run, one sentence each
};

// Reads the rows that the settings want. Errors: those of data_flags.h, label_columns.h, label_map.h and
// labelled_rows.h; H2103 a file has an unknown format; H2121 hone prepare does not support rows with several labels;
// H2413 the model has no tokenizer.
Result<ClassificationData> read_classification(const ClassificationSettings& s,
                                               const Pretrained& model, ThreadPool& pool);

// Opens the files of a split. `split`: "train" or "validation". The first row that the reader returns is the first row
// of the split. Errors: those of label_columns.h; H2103 a file has an unknown format.
Result<LabelReader> open_classification(const ClassificationSettings& s,
                                        const LabelSources& sources, const std::string& split);

// The files that the settings name. Errors: those of data_flags.h.
Result<LabelSources> classification_sources(const ClassificationSettings& s);
// The functions with which hone prepare makes the rows.
PreparedSource classification_source(const std::shared_ptr<ClassificationSettings>& s);

// Returns a function that encodes texts, or pairs of texts, with the model's tokenizer and its special tokens. Rows
// have at most `max_length` tokens, special tokens included; tokens of the longer text of a pair are removed first.
// Model and pool must outlive the function.
EncodeTexts encode_texts_with(const Pretrained& model, ThreadPool* pool, int64_t max_length);

}  // namespace hone

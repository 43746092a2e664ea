// Turns the data flags of classification into rows with labels.
#pragma once

#include <optional>

#include "learn/data/rows/labelled_rows.h"
#include "learn/tasks/classification_settings.h"

namespace hone {

struct ClassificationData {
  LabelMap map;
  // As the settings want them. Rows of `eval`: the matched ones, the mismatched ones, then those to
  // be predicted, which have no labels, in the same order.
  std::optional<LabelledRows> train, eval;  // classes, values or sets
  int64_t train_rows_labelled = 0;          // before any selection
  std::vector<std::string> columns;         // of the texts; empty: of the GLUE task, or prepared
  int64_t matched = 0, mismatched = 0, test = 0, test_mismatched = 0;
  std::vector<std::string> notes;  // for the summary of the run, a sentence each
};

// Errors: H2121 rows with several labels to prepare; those of data_flags.h, label_columns.h, label_map.h and labelled_rows.h; H2413 without
// a tokenizer, H2103 for a file of no known format.
Result<ClassificationData> read_classification(const ClassificationSettings& s,
                                               const Pretrained& model, ThreadPool& pool);

// The rows of "train" or "validation", before the first. Errors: those of label_columns.h.
Result<LabelReader> open_classification(const ClassificationSettings& s,
                                        const LabelSources& sources, const std::string& split);

// The files that the settings mean.
Result<LabelSources> classification_sources(const ClassificationSettings& s);
// The source of rows for hone prepare: the settings that decide the rows, and the rows.
PreparedSource classification_source(const std::shared_ptr<ClassificationSettings>& s);

// Texts through the model's tokenizer, with its special tokens, cut longest first to `max_length`.
EncodeTexts encode_texts_with(const Pretrained& model, ThreadPool* pool, int64_t max_length);

}  // namespace hone

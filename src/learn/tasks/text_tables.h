// Reads the tables of tasks whose rows are several texts: training rows, rows to evaluate and rows to predict, from the
// files or prepared shards that the data flags name.
#pragma once

#include "learn/tasks/text_rows.h"

namespace hone {

// The flags that decide the tables.
struct TextTableFlags {
  const TaskSettings& common;
  const std::vector<std::string>& test_file;
  int64_t max_predict_samples;
  // The columns of training rows and rows to evaluate. For rows to predict, no label column is read.
  TableOfTextsOptions columns;
  const std::string& data_format;
  const std::vector<std::string>& column_names;

  // The options for reading the files. Errors: H2116 an unknown encoding.
  Result<RowOptions> row_options() const;
};
// The flags in a task's settings. The settings must outlive the result.
template <class Settings>
TextTableFlags text_table_flags(const Settings& s) {
  return {s,
          s.test_file,
          s.max_predict_samples,
          {.text_columns = s.text_column_names, .label_column = s.label_column_name},
          s.data_format,
          s.column_names};
}

// The files that the flags name. Errors: those of data_flags.h.
Result<LabelSources> text_sources(const TextTableFlags& flags);

struct TextTables {
  // The rows to train on, to evaluate and to predict. nullopt: the settings do not need the split.
  std::optional<TableOfTexts> train, eval, test;
  std::vector<std::string> notes;  // notes for the summary of the run, one sentence each
};

struct TextTableRules {
  // Returns the settings that prepared shards must have.
  std::function<Result<OrderedJson>()> shard_settings;
  // True: the validation files are a table. False: the caller reads the validation files, and TextTables::eval is not
  // set from them.
  bool reads_validation = true;
};

// Reads the tables of the splits that the settings want. If an evaluation is wanted and there is no validation file,
// the first training rows become the rows to evaluate. This does not happen with prepared shards, because a folder of
// shards has the rows of all splits. Limits such as --max_train_samples keep the first rows. Errors: those of
// read_text_table, open_text_shards, checked_shards and selection.h.
Result<TextTables> read_text_tables(const TextTableFlags& flags, const LabelSources& sources,
                                    const TextTableRules& rules);

// A table with only the first training row, to find the columns of the data. nullopt: the flags name no training file
// and no data set, as in `hone plan` without data. Errors: those of text_sources, read_text_table and peek_text_shards.
Result<std::optional<TableOfTexts>> first_training_row(const TextTableFlags& flags);
// The first rows to evaluate, at most `limit`; if there is no validation file, the first training rows. Does not
// support prepared shards. Errors: those of text_sources and read_text_table.
Result<TableOfTexts> first_evaluated_rows(const TextTableFlags& flags, int64_t limit);

}  // namespace hone

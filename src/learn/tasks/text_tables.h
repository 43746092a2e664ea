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
  TableOfTextsOptions columns;  // the columns of rows with labels
  const std::string& data_format;
  const std::vector<std::string>& column_names;

  // The options for reading the files. Errors: H2116 an unknown encoding.
  Result<RowOptions> row_options() const;
};
// The flags of a task's settings, which must outlive them.
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
  std::optional<TableOfTexts> train, eval, test;
  std::vector<std::string> notes;  // notes for the summary of the run, one sentence each
};

struct TextTableRules {
  // Returns the settings that prepared shards must have.
  std::function<Result<OrderedJson>()> shard_settings;
  // False: the validation files are not a table, and the caller reads them.
  bool reads_validation = true;
};

// Reads the tables of the splits that the settings want. If there is no validation file, the first training rows
// become the rows to evaluate; this never happens with shards, because a folder of shards has the rows of all splits.
// Limits such as --max_train_samples keep the first rows. Errors: those of read_text_table, open_text_shards,
// checked_shards and selection.h.
Result<TextTables> read_text_tables(const TextTableFlags& flags, const LabelSources& sources,
                                    const TextTableRules& rules);

// The first training row, to find the columns of the data. nullopt: the flags name no file and no data set, as in a
// plan without data. Errors: those of text_sources, read_text_table and peek_text_shards.
Result<std::optional<TableOfTexts>> first_training_row(const TextTableFlags& flags);
// The first rows to evaluate, at most `limit`. Does not support prepared shards. Errors: those of text_sources and
// read_text_table.
Result<TableOfTexts> first_evaluated_rows(const TextTableFlags& flags, int64_t limit);

}  // namespace hone

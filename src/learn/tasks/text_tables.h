// The tables of a task whose rows are several texts: training rows, and rows to evaluate and to
// predict, from files or prepared shards, as the data flags select them.
#pragma once

#include "learn/tasks/text_rows.h"

namespace hone {

// The flags of the tables.
struct TextTableFlags {
  const TaskSettings& common;
  const std::vector<std::string>& test_file;
  int64_t max_predict_samples;
  TableOfTextsOptions columns;  // of labelled rows
  const std::string& data_format;
  const std::vector<std::string>& column_names;

  // Errors: H2116 an unknown encoding.
  Result<RowOptions> row_options() const;
};
// The settings outlive the flags.
template <class Settings>
TextTableFlags text_table_flags(const Settings& s) {
  return {s,
          s.test_file,
          s.max_predict_samples,
          {.text_columns = s.text_column_names, .label_column = s.label_column_name},
          s.data_format,
          s.column_names};
}

// The files of the flags. Errors: those of data_flags.h.
Result<LabelSources> text_sources(const TextTableFlags& flags);

struct TextTables {
  std::optional<TableOfTexts> train, eval, test;
  std::vector<std::string> notes;  // for the summary of the run, a sentence each
};

struct TextTableRules {
  // The settings that prepared shards must have.
  std::function<Result<OrderedJson>()> shard_settings;
  // False: rows to evaluate are a share of the training rows, or not a table.
  bool reads_validation = true;
};

// Evaluates the first training rows if there is no validation file: never of shards, which then have
// the rows of every split. Limits keep the first rows. Errors: those of read_text_table,
// open_text_shards, checked_shards and selection.h.
Result<TextTables> read_text_tables(const TextTableFlags& flags, const LabelSources& sources,
                                    const TextTableRules& rules);

// The first training row, for its columns; none if no file and no data set is named: a plan without
// data. Errors: those of text_sources, read_text_table and peek_text_shards.
Result<std::optional<TableOfTexts>> first_training_row(const TextTableFlags& flags);
// The first rows to evaluate, at most `limit`; prepared shards are not read. Errors: those of
// text_sources and read_text_table.
Result<TableOfTexts> first_evaluated_rows(const TextTableFlags& flags, int64_t limit);

}  // namespace hone

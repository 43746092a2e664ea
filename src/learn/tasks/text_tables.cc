#include "learn/tasks/text_tables.h"

#include "base/core/text.h"
#include "learn/data/rows/files.h"
#include "learn/data/rows/selection.h"
#include "learn/tasks/text_shards.h"

namespace hone {
namespace {

// A split of the flags.
struct WantedTable {
  const char* split;
  const std::vector<std::string>& files;
  bool labelled = true;
  int64_t most = -1;  // rows; < 0: all
};

Result<TableOfTexts> read_wanted_table(const TextTableFlags& flags, const TextTableRules& rules,
                                       const WantedTable& wanted) {
  const std::string& first = wanted.files[0];
  if (is_shard_folder(first)) {
    const ShardManifest made =
        HONE_TRY(checked_shards(wanted.files, HONE_TRY(rules.shard_settings())));
    return open_text_shards(first, made, wanted.split, wanted.most);
  }
  TableOfTextsOptions columns = flags.columns;
  columns.wants_label = wanted.labelled;
  return read_text_table(HONE_TRY(expand_files(wanted.files, wanted.split)),
                         HONE_TRY(flags.row_options()), columns, wanted.most);
}

// Moves the first training rows to the evaluation.
Status share_training_rows(const TaskSettings& s, TextTables& out) {
  const int64_t rows = out.train->rows(),
                kept = HONE_TRY(keep_for_validation(rows, s.validation_split_percentage, s.do_train,
                                                    out.notes));
  out.eval = out.train;
  out.eval->keep(0, kept);
  out.train->keep(kept, rows);
  return Ok{};
}

}  // namespace

Result<RowOptions> TextTableFlags::row_options() const {
  RowOptions options;
  options.format = data_format;
  options.column_names = column_names;
  options.encoding = HONE_TRY(encoding_of(common.encoding));
  options.header_example =
      columns.text_columns.empty() ? "sentence1,sentence2" : join(columns.text_columns, ",");
  if (!columns.label_column.empty()) options.header_example += "," + columns.label_column;
  return options;
}

Result<LabelSources> text_sources(const TextTableFlags& flags) {
  LabelSourceRequest request = named_sources(flags.common, flags.test_file);
  request.glue = false;
  return find_label_sources(request);
}

Result<TextTables> read_text_tables(const TextTableFlags& flags, const LabelSources& sources,
                                    const TextTableRules& rules) {
  const TaskSettings& s = flags.common;
  TextTables out;
  out.notes = sources.notes;
  const bool shares = s.do_eval && sources.validation.empty();
  if (!sources.train.empty())
    out.train = HONE_TRY(read_wanted_table(
        flags, rules,
        {.split = "train", .files = sources.train, .most = shares ? -1 : s.max_train_samples}));
  if (shares)
    HONE_TRY(share_training_rows(s, out));
  else if (s.do_eval && rules.reads_validation)
    out.eval = HONE_TRY(
        read_wanted_table(flags, rules, {.split = "validation", .files = sources.validation}));
  if (out.train)
    out.train->keep(0, HONE_TRY(selected_rows(out.train->rows(), s.max_train_samples,
                                              s.fraction_of_train_data)));
  if (out.eval) out.eval->keep(0, HONE_TRY(selected_rows(out.eval->rows(), s.max_eval_samples, 1)));
  if (s.do_predict)
    out.test = HONE_TRY(read_wanted_table(flags, rules,
                                          {.split = "test",
                                           .files = sources.test,
                                           .labelled = false,
                                           .most = flags.max_predict_samples}));
  for (const auto& [name, table] :
       {std::pair("train", &out.train), {"validation", &out.eval}, {"test", &out.test}})
    if (*table) out.notes.push_back(fmt::format("{}: {}", name, (*table)->note));
  return out;
}

Result<std::optional<TableOfTexts>> first_training_row(const TextTableFlags& flags) {
  if (flags.common.train_file.empty() && flags.common.dataset_name.empty()) return std::nullopt;
  const LabelSources sources = HONE_TRY(text_sources(flags));
  if (is_shard_folder(sources.train[0]))
    return HONE_TRY(peek_text_shards(sources.train[0], "train"));
  return HONE_TRY(read_text_table(HONE_TRY(expand_files(sources.train, "train")),
                                  HONE_TRY(flags.row_options()), flags.columns, 1));
}

Result<TableOfTexts> first_evaluated_rows(const TextTableFlags& flags, int64_t limit) {
  const LabelSources sources = HONE_TRY(text_sources(flags));
  const std::vector<std::string> files = HONE_TRY(
      expand_files(sources.validation.empty() ? sources.train : sources.validation, "validation"));
  return read_text_table(files, HONE_TRY(flags.row_options()), flags.columns, limit);
}

}  // namespace hone

#include "learn/data/rows/text_files.h"

#include <algorithm>

#include "base/core/log.h"
#include "base/core/text.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/dataset_folder.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/files.h"
#include "learn/data/rows/selection.h"

namespace hone {
namespace {

// An error that there are no rows names the files without them.
template <class T>
Result<T> of_files(Result<T> result, const std::vector<std::string>& files) {
  if (!result.ok() && result.error().is(err::kNoRows)) result.error().at(join(files, " "));
  return result;
}

void note_column(const RowReader& reader, size_t column, const TextFiles& files,
                 std::vector<std::string>& notes) {
  const std::vector<std::string>& names = reader.columns();
  if (!files.text_column.empty() || names[column] == "text") return;
  const std::string name = preview(names[column], 40);
  if (files.only_text_column)
    notes.push_back(
        fmt::format("there is no column 'text': the only column of text, '{}', is taken", name));
  else if (names.size() > 1)
    log_warning("there is no column 'text': the first column, '{}', is taken ({})", name,
                files.column_name);
  else
    notes.push_back(fmt::format("there is no column 'text': '{}', the only one, is taken", name));
}

}  // namespace

Result<bool> has_validation_split(const TextFiles& files) {
  if (!files.validation_files.empty() || files.train_files.size() != 1 ||
      !is_dataset_folder(files.train_files[0]))
    return false;
  const auto splits = HONE_TRY(dataset_splits(files.train_files[0]));
  return std::find(splits.begin(), splits.end(), kValidationSplit) != splits.end();
}

namespace {

Error nothing_to_validate(const TextFiles& files, const std::string& share) {
  return Error(
             err::kSplit,
             fmt::format("there is no `validation_file`, and {} leave none to validate on", share))
      .at(fmt::format("`train_file` {}", join(files.train_files, " ")))
      .todo(
          "give `validation_file`, or a larger `validation_split_percentage`; rows are what the "
          "file has, not blocks of tokens");
}

}  // namespace

std::string describe(const TextCounts& c, const TextOptions& options) {
  std::string text =
      fmt::format("{} -> {} -> ", count_of(c.rows_read, "row"), count_of(c.tokens_read, "token"));
  const double percent = c.tokens_read == 0 ? 0
                                            : 100.0 * static_cast<double>(c.tokens_dropped) /
                                                  static_cast<double>(c.tokens_read);
  const std::string dropped =
      fmt::format("{} ({:.1f} %) dropped", count_of(c.tokens_dropped, "token"), percent);
  if (options.grouping == Grouping::kBlocks) {
    text += fmt::format("{} of {} (rows are concatenated; {} keeps them apart); {}",
                        count_of(c.rows_kept, "block"), count_of(options.block_size, "token"),
                        options.apart_name, dropped);
    return text;
  }
  const bool is_whole = options.block_size == INT32_MAX;
  text += fmt::format(
      "{} kept {}; {}", count_of(c.rows_kept, "row"),
      is_whole ? "whole"
               : fmt::format("apart, of at most {}", count_of(options.block_size, "token")),
      dropped);
  if (c.rows_cut > 0) text += fmt::format(", {} cut", count_of(c.rows_cut, "row"));
  if (c.rows_too_short > 0)
    text +=
        fmt::format(", {} of fewer than two tokens left out", count_of(c.rows_too_short, "row"));
  if (c.eos_appended > 0)
    text += fmt::format("; EOS appended to {}", count_of(c.eos_appended, "row"));
  return text;
}

Result<size_t> chosen_column(RowReader& rows, const TextFiles& files) {
  if (files.only_text_column && files.text_column.empty()) return only_text_column(rows);
  const size_t column = HONE_TRY(text_column(rows, files.text_column));
  if (files.text_column.empty() && rows.columns()[column] != "text")
    HONE_TRY(check_no_numbers(rows, column));
  return column;
}

Result<std::vector<TextPart>> find_parts(const TextFiles& given, std::vector<std::string>& notes) {
  std::vector<TextPart> parts;
  TextFiles files = given;
  if (HONE_TRY(has_validation_split(files))) files.validation_files = files.train_files;
  const bool split = files.validation_files.empty() && !files.has_validation;
  if ((files.want_train || split) && files.train_files.empty()) {
    return Error(err::kDataMissing, files.want_train
                                        ? "training needs data: there is no `train_file`"
                                        : "evaluation needs data: there is no `validation_file`")
        .todo(
            "give `train_file` with a txt, csv, tsv, json, jsonl, parquet, arrow or pkl file, and "
            "`validation_file` likewise");
  }
  const auto add = [&](const char* name, std::vector<std::string> paths, size_t column,
                       int64_t first, int64_t end) {
    TextPart& part = parts.emplace_back();
    part.split = name;
    part.files = std::move(paths);
    part.rows = files.rows;
    part.options = files.options;
    part.options.column = column;
    part.options.first_row = first;
    part.options.end_row = end;
  };
  if (files.want_train || (files.want_eval && split)) {
    const auto paths = HONE_TRY(expand_files(files.train_files));
    auto reader = HONE_TRY(open_rows(paths, files.rows));
    const size_t column = HONE_TRY(of_files(chosen_column(*reader, files), paths));
    note_column(*reader, column, files, notes);
    int64_t kept_back = 0;
    if (split && files.validation_split_percentage != 0) {
      // Checked before a long file is counted.
      HONE_TRY(validation_rows(0, files.validation_split_percentage));
      reader->read_only({column});
      const int64_t rows = HONE_TRY(count_rows(*reader));
      kept_back = HONE_TRY(validation_rows(rows, files.validation_split_percentage));
      const std::string share =
          fmt::format("{:g} % of {}", files.validation_split_percentage, count_of(rows, "row"));
      if (files.want_eval && kept_back == 0 && !files.eval_optional)
        return nothing_to_validate(files, share);
      if (files.want_train && kept_back == rows && rows > 0) {
        return Error(
            err::kSplit,
            fmt::format("`validation_split_percentage` keeps back {}: none is left to train on",
                        share));
      }
      if (kept_back > 0) {
        notes.push_back(
            fmt::format("there is no `validation_file`: the first {} ({}) are kept for validation",
                        count_of(kept_back, "row"), share));
      }
    } else if (split && files.want_eval && !files.eval_optional) {
      return nothing_to_validate(files, "0 % of the rows");
    }
    if (files.want_train) add(kTrainSplit, paths, column, kept_back, INT64_MAX);
    if (files.want_eval && split && kept_back > 0) {
      add(kValidationSplit, paths, column, 0, kept_back);
      parts.back().optional = files.eval_optional;
    }
  }
  if (files.want_eval && !split) {
    auto paths = HONE_TRY(expand_files(files.validation_files, kValidationSplit));
    auto reader = HONE_TRY(open_rows(paths, files.rows));
    const size_t column = HONE_TRY(of_files(chosen_column(*reader, files), paths));
    add(kValidationSplit, std::move(paths), column, 0, INT64_MAX);
  }
  return parts;
}

Result<TextData> read_part(const TextPart& part, const Tokenize& tokenize) {
  auto reader = HONE_TRY(open_rows(part.files, part.rows));
  return of_files(read_text_rows(std::move(reader), part.options, tokenize), part.files);
}

Result<SampleBy> sample_by_of(const std::string& name) {
  if (name == "line") return SampleBy::kLine;
  if (name == "paragraph") return SampleBy::kParagraph;
  if (name == "document") return SampleBy::kDocument;
  const std::string near = nearest_name(name, {"line", "paragraph", "document"});
  return Error(err::kSplit,
               fmt::format("`sample_by` {} is not one of line, paragraph, document", name))
      .todo(near.empty() ? "a line is the default" : fmt::format("did you mean {}?", near));
}

}  // namespace hone

#include "learn/data/causal_data.h"

#include <algorithm>

#include "learn/data/dataset_folder.h"
#include "learn/data/files.h"
#include "learn/data/formats/errors.h"
#include "learn/data/steps.h"

namespace hone {
namespace {

// 1234567 -> "1,234,567"
std::string grouped(int64_t n) {
  const std::string digits = std::to_string(n);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}
std::string count(int64_t n, const char* noun) {
  return fmt::format("{} {}{}", grouped(n), noun, n == 1 ? "" : "s");
}

// The rows [first, end) of the files, tokenised, grouped, and cut to the samples wanted.
Result<CausalData> load(const CausalFiles& files, RowReader& reader, size_t column, int64_t first,
                        int64_t end, int64_t max_samples, double fraction,
                        const Tokenize& tokenize) {
  CausalOptions options = files.causal;
  options.column = column;
  options.first_row = first;
  options.end_row = end;
  CausalData data = HONE_TRY(read_causal(reader, options, tokenize));
  data.rows.keep_first(HONE_TRY(selected_rows(data.rows.size(), max_samples, fraction)));
  return data;
}

void note_column(const RowReader& reader, size_t column, const std::string& wanted,
                 std::vector<std::string>& notes) {
  const std::vector<std::string>& names = reader.columns();
  if (wanted.empty() && names[column] != "text") {
    notes.push_back(fmt::format("there is no column 'text': the first column, '{}', is taken",
                                preview(names[column], 40)));
  }
}

void note_counts(const char* split, const CausalData& data, const CausalFiles& files,
                 std::vector<std::string>& notes) {
  notes.push_back(fmt::format("{}: {}", split, describe(data.counts, files.causal)));
  if (data.rows.size() < data.counts.rows_kept) {
    notes.push_back(
        fmt::format("{}: the first {} of these are used", split, grouped(data.rows.size())));
  }
}

}  // namespace

Result<bool> has_validation_split(const CausalFiles& files) {
  if (!files.validation_files.empty() || files.train_files.size() != 1 ||
      !is_dataset_folder(files.train_files[0]))
    return false;
  const auto splits = HONE_TRY(dataset_splits(files.train_files[0]));
  return std::find(splits.begin(), splits.end(), kValidationSplit) != splits.end();
}

std::string describe(const CausalCounts& c, const CausalOptions& options) {
  std::string text =
      fmt::format("{} -> {} -> ", count(c.rows_read, "row"), count(c.tokens_read, "token"));
  const double percent = c.tokens_read == 0 ? 0
                                            : 100.0 * static_cast<double>(c.tokens_dropped) /
                                                  static_cast<double>(c.tokens_read);
  const std::string dropped =
      fmt::format("{} ({:.1f} %) dropped", count(c.tokens_dropped, "token"), percent);
  if (options.grouping == Grouping::kBlocks) {
    text += fmt::format("{} of {} (rows are concatenated; --packing keeps them apart); {}",
                        count(c.rows_kept, "block"), count(options.block_size, "token"), dropped);
    return text;
  }
  text += fmt::format("{} kept apart, of at most {}; {}", count(c.rows_kept, "row"),
                      count(options.block_size, "token"), dropped);
  if (c.rows_cut > 0) text += fmt::format(", {} cut", count(c.rows_cut, "row"));
  if (c.rows_too_short > 0)
    text += fmt::format(", {} of fewer than two tokens left out", count(c.rows_too_short, "row"));
  if (c.eos_appended > 0) text += fmt::format("; EOS appended to {}", count(c.eos_appended, "row"));
  return text;
}

Result<CausalSplits> load_causal(const CausalFiles& given, const Tokenize& tokenize) {
  CausalSplits out;
  CausalFiles files = given;
  if (HONE_TRY(has_validation_split(files))) files.validation_files = files.train_files;
  const bool split = files.validation_files.empty() && !files.has_validation;
  if ((files.want_train || split) && files.train_files.empty()) {
    return Error(err::kDataMissing, files.want_train
                                        ? "training needs data: there is no --train_file"
                                        : "evaluation needs data: there is no --validation_file")
        .todo(
            "give --train_file with a txt, csv, tsv, json, jsonl, parquet, arrow or pkl file, and "
            "--validation_file likewise");
  }
  if (files.want_train || (files.want_eval && split)) {
    auto reader = HONE_TRY(open_rows(HONE_TRY(expand_files(files.train_files)), files.rows));
    const size_t column = HONE_TRY(text_column(*reader, files.text_column));
    note_column(*reader, column, files.text_column, out.notes);
    int64_t kept_back = 0;
    if (split) {
      // Checked before a long file is counted.
      HONE_TRY(validation_rows(0, files.validation_split_percentage));
      const int64_t rows = HONE_TRY(count_rows(*reader));
      kept_back = HONE_TRY(validation_rows(rows, files.validation_split_percentage));
      const std::string share =
          fmt::format("{:g} % of {}", files.validation_split_percentage, count(rows, "row"));
      if (files.want_eval && kept_back == 0) {
        return Error(err::kSplit,
                     fmt::format("there is no --validation_file, and {} leave none to validate on",
                                 share))
            .at(fmt::format("--train_file {}", fmt::join(files.train_files, " ")))
            .todo(
                "give --validation_file, or a larger --validation_split_percentage; rows are what "
                "the "
                "file has, not blocks of tokens");
      }
      if (files.want_train && kept_back == rows && rows > 0) {
        return Error(
            err::kSplit,
            fmt::format("--validation_split_percentage keeps back {}: none is left to train on",
                        share));
      }
      if (kept_back > 0) {
        out.notes.push_back(
            fmt::format("there is no --validation_file: the first {} ({}) are kept for validation",
                        count(kept_back, "row"), share));
      }
    }
    const RowPosition start = reader->position();
    if (files.want_train) {
      out.train = HONE_TRY(load(files, *reader, column, kept_back, INT64_MAX,
                                files.max_train_samples, files.fraction_of_train_data, tokenize));
      note_counts("train", out.train, files, out.notes);
    }
    if (files.want_eval && split) {
      HONE_TRY(reader->seek(start));
      out.eval =
          HONE_TRY(load(files, *reader, column, 0, kept_back, files.max_eval_samples, 1, tokenize));
    }
  }
  if (files.want_eval && !split) {
    auto reader = HONE_TRY(
        open_rows(HONE_TRY(expand_files(files.validation_files, kValidationSplit)), files.rows));
    const size_t column = HONE_TRY(text_column(*reader, files.text_column));
    out.eval =
        HONE_TRY(load(files, *reader, column, 0, INT64_MAX, files.max_eval_samples, 1, tokenize));
  }
  if (files.want_eval) note_counts("validation", out.eval, files, out.notes);
  return out;
}

Result<SampleBy> sample_by_of(const std::string& name) {
  if (name == "line") return SampleBy::kLine;
  if (name == "paragraph") return SampleBy::kParagraph;
  if (name == "document") return SampleBy::kDocument;
  const std::string near = nearest_name(name, {"line", "paragraph", "document"});
  return Error(err::kSplit,
               fmt::format("--sample_by {} is none of line, paragraph, document", name))
      .todo(near.empty() ? "a line is the default" : fmt::format("did you mean {}?", near));
}

}  // namespace hone

#include "learn/check/check_rows.h"

#include <algorithm>

#include "learn/check/row_faults.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/files.h"
#include "learn/data/rows/selection.h"

namespace hone {
namespace {

class Scan {
 public:
  Scan(const TextFiles& files, const Tokenizer* tokenizer, int64_t vocab, bool masked,
       ThreadPool& pool, int64_t samples, Findings& findings, RowsReport& report)
      : files_(files),
        tokenizer_(tokenizer),
        vocab_(vocab),
        masked_(masked),
        pool_(pool),
        samples_(samples),
        findings_(findings),
        report_(report) {}

  void run() {
    const Result<bool> folder = has_validation_split(files_);
    if (!folder.ok()) return findings_.add(folder.error());
    if (*folder) files_.validation_files = files_.train_files;
    const bool split = files_.validation_files.empty() && !files_.has_validation;
    const bool train_ok = findings_.passed(train_file(split));
    if (!files_.validation_files.empty() && files_.want_eval) findings_.passed(validation_file());
    if (train_ok)
      tell_repeated(
          table_, report_.train.rows, report_.eval.rows,
          [&](RowPlace place) { return where(place); }, "loss", findings_);
  }

 private:
  Status train_file(bool split) {
    if (files_.train_files.empty()) {
      return Error(err::kDataMissing, "there is no --train_file")
          .todo("give one or several: txt, csv, tsv, json, jsonl or parquet");
    }
    auto reader = HONE_TRY(open(files_.train_files, "train"));
    int64_t kept_back = 0;
    if (split) {
      kept_back = HONE_TRY(
          validation_rows(HONE_TRY(count_rows(*reader)), files_.validation_split_percentage));
      if (kept_back > 0 && files_.want_eval)
        HONE_TRY(scan("validation", *reader, kept_back, report_.eval, files_.max_eval_samples, 1));
      else
        for (int64_t i = 0; i < kept_back; ++i) HONE_TRY(reader->next(row_));
    }
    return scan("train", *reader, INT64_MAX, report_.train, files_.max_train_samples,
                files_.fraction_of_train_data);
  }
  Status validation_file() {
    auto reader = HONE_TRY(open(files_.validation_files, kValidationSplit));
    return scan("validation", *reader, INT64_MAX, report_.eval, files_.max_eval_samples, 1);
  }

  Result<std::unique_ptr<RowReader>> open(const std::vector<std::string>& patterns,
                                          const std::string& split) {
    auto reader = HONE_TRY(open_rows(HONE_TRY(expand_files(patterns, split)), files_.rows));
    column_ = HONE_TRY(chosen_column(*reader, files_));
    const std::vector<std::string>& names = reader->columns();
    if (split == "train" && files_.text_column.empty() && !files_.only_text_column &&
        names.size() > 1 && names[column_] != "text")
      findings_.add(FindingLevel::kWarning, "first_column",
                    fmt::format("there is no column 'text': the first column, '{}', is taken",
                                preview(names[column_], 40)),
                    "", "name the column to learn from by " + files_.column_name);
    return reader;
  }

  std::string where(RowPlace place) const { return files_read_.text(place); }

  // The next `most` rows of the reader.
  Status scan(const char* name, RowReader& reader, int64_t most, SplitReport& report,
              int64_t max_samples, double fraction) {
    validation_ = name == std::string_view("validation");
    faults_ = {};
    TextBuilder builder(files_.options);
    for (int64_t i = 0; i < most && HONE_TRY(reader.next(row_)); ++i) {
      made_.clear();
      ++report.rows;
      if (column_ >= row_.cells.size()) row_.cells.resize(column_ + 1);
      const RowPlace place = files_read_.place(row_.file, row_.line);
      if (const auto* list = std::get_if<std::vector<int64_t>>(&row_.cells[column_])) {
        HONE_TRY(flush(report, builder));
        const std::vector<int32_t> ids(list->begin(), list->end());
        look_at_ids(ids, place, builder);
        rows_of_ids_ = true;
        continue;
      }
      HONE_TRY(cell_text(row_, column_, reader.columns()[column_]));
      auto* text = std::get_if<std::string>(&row_.cells[column_]);
      texts_.push_back(text ? std::move(*text) : std::string());
      places_.push_back(place);
      pending_bytes_ += texts_.back().size();
      if (texts_.size() == 1000 || pending_bytes_ >= (8 << 20)) HONE_TRY(flush(report, builder));
    }
    HONE_TRY(flush(report, builder));
    builder.finish();
    report.counts = builder.state().counts;
    report.empty = faults_.rows(RowFault::kEmpty);
    report.sequences = HONE_TRY(selected_rows(report.counts.rows_kept, max_samples, fraction));
    tell(name, report);
    return Ok{};
  }

  Status flush(SplitReport& report, TextBuilder& builder) {
    if (texts_.empty()) return Ok{};
    if (!tokenizer_)
      return Error(err::kDataMissing, "the model has no tokenizer")
          .todo("name one by --tokenizer_name");
    const std::vector<std::string_view> views(texts_.begin(), texts_.end());
    auto ids = tokenizer_->encode_batch(views, &pool_);
    for (size_t i = 0; i < texts_.size(); ++i) {
      report.bytes += static_cast<int64_t>(texts_[i].size());
      look_at_text(texts_[i], places_[i]);
      // As in training: a blank row of its own has no special tokens either.
      if (masked_ && files_.options.grouping == Grouping::kRows && is_blank(texts_[i]))
        ids[i].clear();
      look_at_ids(ids[i], places_[i], builder);
    }
    texts_.clear();
    places_.clear();
    pending_bytes_ = 0;
    return Ok{};
  }

  void look_at_text(std::string_view text, RowPlace place) {
    if (is_blank(text)) return faults_.note(RowFault::kEmpty, place);
    table_.add(text, validation_, place);
    faults_.look_at_text(text, place);
  }

  void look_at_ids(const std::vector<int32_t>& ids, RowPlace place, TextBuilder& builder) {
    builder.add(ids, made_);
    if (static_cast<int64_t>(ids.size()) > files_.options.block_size)
      faults_.note(RowFault::kLong, place);
    faults_.look_at_ids(ids, tokenizer_, vocab_, false, place);
    if (files_.options.grouping == Grouping::kRows && !ids.empty() && nothing_to_learn(ids))
      faults_.note(RowFault::kNoLabel, place);
    if (!validation_ && static_cast<int64_t>(report_.samples.size()) < samples_)
      report_.samples.push_back({ids, {}, ""});
  }

  // A causal model learns every token but the first, a masked one those that may be hidden.
  bool nothing_to_learn(const std::vector<int32_t>& ids) const {
    if (!masked_) return ids.size() < 2 && !files_.options.eos;
    return std::all_of(ids.begin(), ids.end(),
                       [&](int32_t id) { return tokenizer_ && tokenizer_->is_special(id); });
  }

  // Findings of the split that was read.
  void tell(const char* name, const SplitReport& report) {
    if (report.rows == 0) {
      findings_.add(FindingLevel::kError, "no_rows", fmt::format("{}: there are no rows", name), "",
                    "check the file");
      return;
    }
    faults_.tell({name, report.rows, "a block",
                  files_.options.grouping == Grouping::kRows
                      ? fmt::format("what does not fit is cut off: raise {}, or leave out {}",
                                    files_.options.block_name, files_.options.apart_name)
                      : "they are cut into blocks",
                  [&](RowPlace place) { return where(place); }, "", "",
                  files_.options.grouping == Grouping::kRows},
                 findings_);
    const TextCounts& c = report.counts;
    const double dropped = percent_of(c.tokens_dropped, c.tokens_read);
    if (report.sequences == 0) {
      findings_.add(FindingLevel::kError, "no_blocks",
                    fmt::format("{}: {} in {} do not make one row to learn from", name,
                                count_of(c.tokens_read, "token"), count_of(c.rows_read, "row")),
                    "",
                    fmt::format("use a smaller {}, or {}, or give more text",
                                files_.options.block_name, files_.options.apart_name));
    } else if (dropped > 10) {
      findings_.add(
          FindingLevel::kWarning, "tokens_dropped",
          fmt::format("{}: {:.1f} % of the tokens are dropped", name, dropped), "",
          files_.options.grouping == Grouping::kRows
              ? fmt::format("raise {}: rows are cut at it", files_.options.block_name)
              : fmt::format("use a smaller {}: what is left over of 1,000 rows is dropped",
                            files_.options.block_name));
    }
    if (report.bytes > 1000 && !rows_of_ids_) {
      const double ratio = static_cast<double>(report.bytes) / static_cast<double>(c.tokens_read);
      if (ratio < 1.5)
        findings_.add(
            FindingLevel::kWarning, "short_tokens",
            fmt::format("{}: a token is only {:.2f} bytes of text on average", name, ratio), "",
            "is the tokenizer made for this language? training gets slow and dear");
    }
  }

  TextFiles files_;
  const Tokenizer* tokenizer_;
  int64_t vocab_;
  bool masked_;
  ThreadPool& pool_;
  int64_t samples_;
  Findings& findings_;
  RowsReport& report_;

  RowFaults faults_;
  RowTable table_;
  RowFiles files_read_;
  bool validation_ = false, rows_of_ids_ = false;
  size_t column_ = 0;
  Row row_;
  TokenRows made_;                  // only their counts are wanted
  std::vector<std::string> texts_;  // waiting for the tokenizer
  std::vector<RowPlace> places_;
  size_t pending_bytes_ = 0;
};

}  // namespace

RowsReport check_rows(const TextFiles& files, const Tokenizer* tokenizer, const ModelConfig& config,
                      ThreadPool& pool, int64_t samples, Findings& findings) {
  RowsReport report;
  Scan(files, tokenizer, config.vocab, config.head == Head::masked_lm, pool, samples, findings,
       report)
      .run();
  return report;
}

}  // namespace hone

#include "learn/check/check_rows.h"

#include <array>

#include "learn/check/row_table.h"
#include "learn/data/files.h"
#include "learn/data/formats/errors.h"
#include "learn/data/steps.h"

namespace hone {
namespace {

// What can be wrong with a single row, and how it is told: {} stand for the split, the rows that
// have it, all rows, and the share in percent.
struct RowFault {
  FindingLevel level;
  const char* id;
  const char* what;
  const char* todo;
};
enum Fault : size_t {
  kEmpty,
  kReplacement,
  kMojibake,
  kControl,
  kCarriageReturn,
  kLong,
  kOutside,
  kUnknown,
  kSpecial,
  kTwoStarts,
  kFaults,
};
constexpr RowFault kRowFaults[kFaults] = {
    {FindingLevel::kWarning, "empty_rows", "{}: {} of {} rows ({:.1f} %) are empty",
     "leave them out, or check --text_column"},
    {FindingLevel::kWarning, "replacement_characters",
     "{}: {} of {} rows ({:.1f} %) hold U+FFFD, which stands for text that was lost",
     "make the file again from its source with the right encoding"},
    {FindingLevel::kWarning, "mojibake",
     "{}: {} of {} rows ({:.1f} %) look like UTF-8 that was read as cp1252 and written again (Ã©, "
     "â€)",
     "make the file again from its source with the right encoding"},
    {FindingLevel::kWarning, "control_characters",
     "{}: {} of {} rows ({:.1f} %) hold control characters",
     "take them out: the model would learn to write them"},
    {FindingLevel::kNote, "carriage_returns",
     "{}: {} of {} rows ({:.1f} %) hold carriage returns (Windows line ends)",
     "wanted? if not, convert the file: sed 's/\\r$//'"},
    {FindingLevel::kNote, "long_rows", "{}: {} of {} rows ({:.1f} %) have more tokens than a block",
     ""},
    {FindingLevel::kError, "ids_outside_vocabulary",
     "{}: {} of {} rows ({:.1f} %) have ids that the model's vocabulary does not have",
     "use the tokenizer that belongs to the model"},
    {FindingLevel::kWarning, "unknown_tokens",
     "{}: {} of {} rows ({:.1f} %) have characters that the tokenizer does not know",
     "use a tokenizer made for this text"},
    {FindingLevel::kNote, "special_tokens_in_text",
     "{}: {} of {} rows ({:.1f} %) spell special tokens in their text", ""},
    {FindingLevel::kWarning, "two_starts",
     "{}: {} of {} rows ({:.1f} %) begin with two begin-of-text tokens",
     "the tokenizer adds one: take it out of the text"},
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

class Scan {
 public:
  Scan(const CausalFiles& files, const Tokenizer* tokenizer, int64_t vocab, ThreadPool& pool,
       int64_t samples, Findings& findings, RowsReport& report)
      : files_(files),
        tokenizer_(tokenizer),
        vocab_(vocab),
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
    if (train_ok) repeated_rows();
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
    return reader;
  }

  std::string where(RowPlace place) const {
    return fmt::format("{}:{}", names_[static_cast<size_t>(place.file)], place.line);
  }

  // The next `most` rows of the reader.
  Status scan(const char* name, RowReader& reader, int64_t most, SplitReport& report,
              int64_t max_samples, double fraction) {
    validation_ = name == std::string_view("validation");
    faults_ = {};
    CausalBuilder builder(files_.causal);
    for (int64_t i = 0; i < most && HONE_TRY(reader.next(row_)); ++i) {
      made_.clear();
      ++report.rows;
      if (column_ >= row_.cells.size()) row_.cells.resize(column_ + 1);
      if (names_.empty() || names_.back() != row_.file) names_.emplace_back(row_.file);
      const RowPlace place{static_cast<int32_t>(names_.size() - 1), row_.line};
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
    report.empty = faults_[kEmpty].rows;
    report.sequences = HONE_TRY(selected_rows(report.counts.rows_kept, max_samples, fraction));
    tell(name, report);
    return Ok{};
  }

  Status flush(SplitReport& report, CausalBuilder& builder) {
    if (texts_.empty()) return Ok{};
    if (!tokenizer_)
      return Error(err::kDataMissing, "the model has no tokenizer")
          .todo("name one by --tokenizer_name");
    const std::vector<std::string_view> views(texts_.begin(), texts_.end());
    const auto ids = tokenizer_->encode_batch(views, &pool_);
    for (size_t i = 0; i < texts_.size(); ++i) {
      report.bytes += static_cast<int64_t>(texts_[i].size());
      look_at_text(texts_[i], places_[i]);
      look_at_ids(ids[i], places_[i], builder);
    }
    texts_.clear();
    places_.clear();
    pending_bytes_ = 0;
    return Ok{};
  }

  void look_at_text(std::string_view text, RowPlace place) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return note(kEmpty, place);
    table_.add(text, validation_, place);
    if (has(text, "\xEF\xBF\xBD")) note(kReplacement, place);
    if (has(text, "\xC3\x83\xC2") || has(text, "\xC3\x82\xC2") || has(text, "\xC3\xA2\xE2\x82\xAC"))
      note(kMojibake, place);
    if (has(text, "\r")) note(kCarriageReturn, place);
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F)
        return note(kControl, place);
    }
  }

  void look_at_ids(const std::vector<int32_t>& ids, RowPlace place, CausalBuilder& builder) {
    builder.add(ids, made_);
    if (static_cast<int64_t>(ids.size()) > files_.causal.block_size) note(kLong, place);
    bool outside = false, unknown = false;
    int64_t special = 0;
    for (const int32_t id : ids) {
      outside = outside || id < 0 || id >= vocab_;
      if (!tokenizer_ || id < 0 || id >= tokenizer_->id_limit()) continue;
      unknown = unknown || (id == tokenizer_->unk_id() && id != tokenizer_->eos_id() &&
                            id != tokenizer_->bos_id());
      special += tokenizer_->is_special(id);
    }
    if (outside) note(kOutside, place);
    if (unknown) note(kUnknown, place);
    if (tokenizer_ && special > tokenizer_->special_token_count(false)) note(kSpecial, place);
    if (tokenizer_ && ids.size() > 1 && ids[0] == ids[1] && tokenizer_->bos_id() == ids[0] &&
        tokenizer_->special_token_count(false) > 0)
      note(kTwoStarts, place);
    if (!validation_ && static_cast<int64_t>(report_.samples.size()) < samples_)
      report_.samples.push_back(ids);
  }

  void note(Fault fault, RowPlace place) {
    if (faults_[fault].rows++ == 0) faults_[fault].first = place;
  }

  // Findings of the split that was read.
  void tell(const char* name, const SplitReport& report) {
    if (report.rows == 0) {
      findings_.add(FindingLevel::kError, "no_rows", fmt::format("{}: there are no rows", name), "",
                    "check the file");
      return;
    }
    for (size_t i = 0; i < kFaults; ++i) {
      if (faults_[i].rows == 0) continue;
      const RowFault& fault = kRowFaults[i];
      findings_.add(
          fault.level, fault.id,
          fmt::format(
              fmt::runtime(fault.what), name, faults_[i].rows, report.rows,
              100.0 * static_cast<double>(faults_[i].rows) / static_cast<double>(report.rows)),
          "first " + where(faults_[i].first),
          i == kLong
              ? (files_.causal.grouping == Grouping::kRows
                     ? "what does not fit is cut off: raise --block_size, or leave out --packing"
                     : "they are cut into blocks")
              : fault.todo);
    }
    const CausalCounts& c = report.counts;
    const double dropped = c.tokens_read == 0 ? 0
                                              : 100.0 * static_cast<double>(c.tokens_dropped) /
                                                    static_cast<double>(c.tokens_read);
    if (report.sequences == 0) {
      findings_.add(FindingLevel::kError, "no_blocks",
                    fmt::format("{}: {} tokens in {} rows do not make one row to learn from", name,
                                c.tokens_read, c.rows_read),
                    "", "use a smaller --block_size, or --packing, or give more text");
    } else if (dropped > 10) {
      findings_.add(FindingLevel::kWarning, "tokens_dropped",
                    fmt::format("{}: {:.1f} % of the tokens are dropped", name, dropped), "",
                    files_.causal.grouping == Grouping::kRows
                        ? "raise --block_size: rows are cut at it"
                        : "use a smaller --block_size: what is left over of 1,000 rows is dropped");
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

  void repeated_rows() {
    int64_t copies = 0, leaked = 0;
    RowPlace first, again, trained, validated;
    for (const auto& [hash, entry] : table_.entries()) {
      const auto earlier = [](RowPlace a, RowPlace b) {
        return b.line == 0 || a.file < b.file || (a.file == b.file && a.line < b.line);
      };
      if (entry.count[0] > 1) {
        copies += entry.count[0] - 1;
        if (earlier(entry.again, again)) again = entry.again, first = entry.first[0];
      }
      if (entry.count[0] > 0 && entry.count[1] > 0) {
        leaked += entry.count[1];
        if (earlier(entry.first[1], validated))
          validated = entry.first[1], trained = entry.first[0];
      }
    }
    const auto all = [&](int64_t n) {
      return static_cast<int64_t>(static_cast<double>(n) / table_.share());
    };
    const char* about = table_.share() < 1 ? "about " : "";
    if (copies > 0) {
      const double percent =
          100.0 * static_cast<double>(all(copies)) / static_cast<double>(report_.train.rows);
      findings_.add(percent >= 1 ? FindingLevel::kWarning : FindingLevel::kNote, "duplicate_rows",
                    fmt::format("train: {}{} of {} rows ({:.1f} %) are copies of rows before them",
                                about, all(copies), report_.train.rows, percent),
                    fmt::format("first {}, as {}", where(again), where(first)),
                    "leave the copies out: the model learns them by heart");
    }
    if (leaked > 0) {
      findings_.add(FindingLevel::kWarning, "leaked_rows",
                    fmt::format("validation: {}{} of {} rows ({:.1f} %) are training rows too",
                                about, all(leaked), report_.eval.rows,
                                100.0 * static_cast<double>(all(leaked)) /
                                    static_cast<double>(report_.eval.rows)),
                    fmt::format("first {}, as {}", where(validated), where(trained)),
                    "take them out of one of the two: the validation loss is too good");
    }
  }

  CausalFiles files_;
  const Tokenizer* tokenizer_;
  int64_t vocab_;
  ThreadPool& pool_;
  int64_t samples_;
  Findings& findings_;
  RowsReport& report_;

  struct Seen {
    int64_t rows = 0;
    RowPlace first;
  };
  std::array<Seen, kFaults> faults_;
  RowTable table_;
  std::vector<std::string> names_;  // files read so far
  bool validation_ = false, rows_of_ids_ = false;
  size_t column_ = 0;
  Row row_;
  TokenRows made_;                  // only their counts are wanted
  std::vector<std::string> texts_;  // waiting for the tokenizer
  std::vector<RowPlace> places_;
  size_t pending_bytes_ = 0;
};

}  // namespace

RowsReport check_rows(const CausalFiles& files, const Tokenizer* tokenizer, int64_t vocab,
                      ThreadPool& pool, int64_t samples, Findings& findings) {
  RowsReport report;
  Scan(files, tokenizer, vocab, pool, samples, findings, report).run();
  return report;
}

}  // namespace hone

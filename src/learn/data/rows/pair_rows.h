// Reads pairs of texts, a source and its target, for summarization and translation.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "learn/data/rows/files.h"
#include "learn/data/rows/token_rows.h"

namespace hone {

// The part of a language code before "_": "en" for "en_XX". It is the key of the language in a row, as in
// run_translation of Transformers.
std::string language_key(const std::string& lang);

// Chooses the columns of the two texts of a row.
struct PairColumnOptions {
  // The names of the columns. "": the first column for the source, the second for the target.
  std::string source_column, target_column;
  // The settings that set source_column and target_column, for messages.
  std::string source_name = "text_column", target_name = "summary_column";
  // For translations: the languages. They are keys of the object in the column `translation`; if there is no such
  // column, the names of the two columns. "": the rows are not translations.
  std::string source_lang, target_lang;
  bool target = true;  // false: these are rows to predict, which may have no target
  // The columns of source and target that the model was trained on; empty: unknown. They are used if the file has them
  // (for rows to predict: if it has the source) and neither source_column nor target_column is set.
  std::vector<std::string> trained_columns = {};
};

struct TextPair {
  std::string source, target;
  std::string source_place, target_place;  // for messages: "train.csv:3, column 'summary'"
  // The file and the 1-based line of source and target; they differ in parallel files. The reader owns the names.
  std::string_view source_file, target_file;
  int64_t source_line = 0, target_line = 0;
  bool line_is_row = false;  // true: the lines are row numbers, as in formats without lines
};

class PairReader {
 public:
  // Opens files in which each row holds a source and its target. Errors: those of open_rows; H2109 a column does not
  // exist; H2113 the files have no rows.
  static Result<PairReader> open(const std::vector<std::string>& files, const RowOptions& options,
                                 const PairColumnOptions& wanted);
  // Opens parallel files of text: line i of the targets is the target of line i of the sources. Empty `targets`: rows
  // to predict. Errors: those of open_rows.
  static Result<PairReader> open_parallel(const std::vector<std::string>& sources,
                                          const std::vector<std::string>& targets,
                                          const RowOptions& options);

  // Fills `pair` with the next pair. Returns false after the last pair. A null becomes an empty text. Errors: those
  // of the reader; H2110 a cell does not hold text; H2124 a translation lacks a language, or the sources and targets of
  // parallel files have different numbers of lines.
  Result<bool> next(TextPair& pair);

  // A text for the summary of the run: "text from article, target from highlights".
  const std::string& note() const { return note_; }
  // The names of the chosen columns: source and target, or only the source if rows to predict have no target. Empty for
  // translations in the column `translation` and for parallel files.
  std::vector<std::string> columns() const;

 private:
  Result<bool> next_line(RowReader& rows, std::string& text, std::string& place,
                         std::string_view& file, int64_t& line);

  std::unique_ptr<RowReader> rows_, target_rows_;  // target_rows_: only for parallel files
  size_t source_ = 0;                              // the column of the source
  // The column of the target (equal to source_ if objects_ is true); none: rows to predict without a target.
  std::optional<size_t> target_;
  bool objects_ = false, parallel_ = false;
  PairColumnOptions columns_wanted_;
  std::string note_;
  Row row_;
};

struct ParallelFiles {
  std::vector<std::string> sources, targets;
};
// Sorts parallel files into sources and targets by their extensions: train.en.gz has the language en (or en_XX).
// Keeps their order. Returns none if a file has neither language, if no file is a source, or if the numbers of sources
// and targets differ. With need_targets = false all files may be sources.
std::optional<ParallelFiles> parallel_files(const std::vector<std::string>& files,
                                            const std::string& source_lang,
                                            const std::string& target_lang,
                                            bool need_targets = true);

// The tokens of a batch of sources or of targets, with the special tokens of a source or a target. Texts with more
// tokens than allowed are cut. cut[i]: text i was cut.
struct EncodedSide {
  std::vector<std::vector<int32_t>> ids;
  std::vector<bool> cut;
};
using EncodeSide = std::function<Status(std::span<const std::string_view>, EncodedSide&)>;

struct PairCounts {
  int64_t rows_read = 0;
  int64_t sources_cut = 0, targets_cut = 0;  // texts that were cut, as they are longer than allowed
  int64_t rows_empty = 0;                    // rows that were left out, as a text is empty
};

struct PairRows {
  TokenRows sources, targets;
  PairCounts counts;
  std::string first_source;  // the first source as in the file, without the prefix
  // false: these are rows to predict without targets, and all rows of `targets` are empty.
  bool has_targets = true;
  int64_t size() const { return sources.size(); }
  // Appends rows [begin, end) of `from`.
  void append(const PairRows& from, int64_t begin, int64_t end);
  void keep_first(int64_t rows) { sources.keep_first(rows), targets.keep_first(rows); }
};

struct PairOptions {
  std::string prefix;  // text to put before each source
  // true: pairs with an empty text are left out and counted; false: they are error H2123.
  bool skip_empty = false;
  bool predict = false;  // true: these are rows to predict, whose targets may all be empty
  EncodeSide source, target;
};

// Reads at most `limit` rows, including rows that are left out, and tokenizes their pairs. Errors: those of the reader
// and of the options' functions; H2123 a text is empty, unless options.skip_empty is true. With options.predict it is
// not an error if the targets of all rows are empty.
Result<PairRows> read_pairs(PairReader& reader, const PairOptions& options, int64_t limit);

// The text "1,992 rows -> 312,004 tokens of sources, 48,113 of targets; 12 sources (0.6 %) cut at 512; ...".
// `max_source` and `max_target` are the largest numbers of tokens that a source and a target may have.
std::string describe(const PairRows& rows, int64_t max_source, int64_t max_target);

}  // namespace hone

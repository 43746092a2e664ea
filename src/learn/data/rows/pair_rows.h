// Pairs of texts, a source and its target: summaries, translations.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "learn/data/rows/files.h"
#include "learn/data/rows/token_rows.h"

namespace hone {

// "en" of "en_XX", as run_translation takes the keys of its rows.
std::string language_key(const std::string& lang);

// The columns of the two texts of a row.
struct PairColumnOptions {
  // Columns by name, with the settings that name them. Without a name the first columns of the file
  // that are not taken yet.
  std::string source_column, target_column;
  std::string source_name = "text_column", target_name = "summary_column";
  // The languages of run_translation: the keys of an object in column `translation`, or the
  // columns themselves; "" when the rows are not translations.
  std::string source_lang, target_lang;
  bool target = true;  // false: rows to predict, which may have none
  // Source and target of the model's training; empty: unknown. Taken if the file has them and no column is named.
  std::vector<std::string> trained_columns = {};
};

struct TextPair {
  std::string source, target;
  std::string source_place, target_place;  // "train.csv:3, column 'summary'", for messages
  // The rows of both, which differ in parallel files; the files' names are the reader's.
  std::string_view source_file, target_file;
  int64_t source_line = 0, target_line = 0;
  bool line_is_row = false;
};

class PairReader {
 public:
  // Rows with both texts. Errors: those of open_rows, H2109 with the nearest name, H2113.
  static Result<PairReader> open(const std::vector<std::string>& files, const RowOptions& options,
                                 const PairColumnOptions& wanted);
  // Line i of one belongs to line i of the other; no targets: rows to predict. Errors: those
  // of open_rows, H2113.
  static Result<PairReader> open_parallel(const std::vector<std::string>& sources,
                                          const std::vector<std::string>& targets,
                                          const RowOptions& options);

  // False after the last pair. A null is an empty text. Errors: those of the reader; H2110 a cell
  // that holds no text, H2124 a translation without the language, or one more line in one file.
  Result<bool> next(TextPair& pair);

  // for the summary of the run: "text from article, summary from highlights".
  const std::string& note() const { return note_; }
  // The chosen columns; only the source's, if rows to predict have no target. Empty for
  // translations in one column and for parallel files.
  std::vector<std::string> columns() const;

 private:
  Result<bool> next_line(RowReader& rows, std::string& text, std::string& place,
                         std::string_view& file, int64_t& line);

  std::unique_ptr<RowReader> rows_, target_rows_;  // the second one of parallel files alone
  size_t source_ = 0;                              // columns; the same one of objects
  std::optional<size_t> target_;                   // none: rows to predict
  bool objects_ = false, parallel_ = false;
  PairColumnOptions columns_wanted_;
  std::string note_;
  Row row_;
};

// The pairs of parallel files, by the ends of their names: train.en.gz is of language en, or en_XX.
// None: the files are not such a pair. Order is kept. Without `need_targets` all may be of the source
// language.
struct ParallelFiles {
  std::vector<std::string> sources, targets;
};
std::optional<ParallelFiles> parallel_files(const std::vector<std::string>& files,
                                            const std::string& source_lang,
                                            const std::string& target_lang,
                                            bool need_targets = true);

// Tokens of texts with the special ones of their side, cut to the length that is allowed.
struct EncodedSide {
  std::vector<std::vector<int32_t>> ids;
  std::vector<bool> cut;
};
using EncodeSide = std::function<Status(std::span<const std::string_view>, EncodedSide&)>;

struct PairCounts {
  int64_t rows_read = 0;
  int64_t sources_cut = 0, targets_cut = 0;  // longer than allowed
  int64_t rows_empty = 0;                    // left out
};

struct PairRows {
  TokenRows sources, targets;
  PairCounts counts;
  std::string first_source;  // as in the file
  bool has_targets = true;   // false: rows to predict without any, all targets are empty
  int64_t size() const { return sources.size(); }
  void append(const PairRows& from, int64_t begin, int64_t end);  // its rows [begin, end)
  void keep_first(int64_t rows) { sources.keep_first(rows), targets.keep_first(rows); }
};

struct PairOptions {
  std::string prefix;       // before each source
  bool skip_empty = false;  // leave pairs with an empty text out and count them; else H2123
  bool predict = false;     // rows to predict: all of them may lack a target
  EncodeSide source, target;
};

// All pairs, at most `limit` rows of the files (as --max_*_samples counts them).
Result<PairRows> read_pairs(PairReader& reader, const PairOptions& options, int64_t limit);

// "1,992 rows -> 312,004 tokens of sources, 48,113 of targets; 12 sources (0.6 %) cut at 512; ..."
std::string describe(const PairRows& rows, int64_t max_source, int64_t max_target);

}  // namespace hone

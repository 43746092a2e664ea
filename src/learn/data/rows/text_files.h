// Turns the files that a user named into the training and validation rows of a language model,
// selected as run_clm selects them.
#pragma once

#include <string>
#include <vector>

#include "learn/data/rows/text_reader.h"

namespace hone {

struct TextFiles {
  // Paths, globs, dataset folders (of a DatasetDict the splits `train` and `validation`).
  std::vector<std::string> train_files, validation_files;
  RowOptions rows;
  std::string text_column;                    // empty: `text`, or else the first
  bool only_text_column = false;              // or else the only one that holds text (files.h)
  std::string column_name = "`text_column`";  // the user's name of text_column
  // The share of the rows of train_files, from the first row on, that is the validation set. These
  // rows are not trained on, even if nothing is evaluated. Has no effect if there are
  // validation_files, or if train_files is one dataset folder with a validation split.
  double validation_split_percentage = 5;
  // The first rows or blocks after grouping.
  int64_t max_train_samples = -1, max_eval_samples = -1;
  double fraction_of_train_data = 1;
  bool want_train = true, want_eval = false;
  bool has_validation = false;  // a validation set exists, perhaps unused: no rows are kept back
  bool eval_optional = false;   // no error when the share kept for validation is empty
  TextOptions options;          // grouping, block_size, eos; the rest is set here
  // Settings that must equal those of prepared shards (shards.h), if a file is a folder of shards.
  OrderedJson shard_settings;
};

// The column that TextFiles::text_column and only_text_column choose. Errors: those of the
// functions text_column and only_text_column.
Result<size_t> chosen_column(RowReader& rows, const TextFiles& files);

// One split, found but not read.
struct TextPart {
  std::string split;  // "train" or "validation"
  std::vector<std::string> files;
  RowOptions rows;
  TextOptions options;    // with column and rows
  bool optional = false;  // a share of train_files that may be too small
};
// Train before validation. Counts the rows of train_files when a share of them is kept back.
// Errors: those of files.h, H2101 when no file is named, H2115 when the split leaves nothing,
// H2113 without rows.
Result<std::vector<TextPart>> find_parts(const TextFiles& files, std::vector<std::string>& notes);

// All rows of a part. Errors: those of text_reader.h.
Result<TextData> read_part(const TextPart& part, const Tokenize& tokenize);

// Whether train_files is one dataset folder with a validation split. That split is then used if no
// validation_files are named.
inline constexpr const char *kTrainSplit = "train", *kValidationSplit = "validation";
Result<bool> has_validation_split(const TextFiles& files);

// "1 row -> 3,540 tokens -> 3 blocks of 1,024 tokens; 468 tokens (13.2 %) dropped, ..."
std::string describe(const TextCounts& counts, const TextOptions& options);

// Names a user types for sample_by. Errors: H2115.
Result<SampleBy> sample_by_of(const std::string& name);

}  // namespace hone

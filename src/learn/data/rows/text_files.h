// Turns the files that a user names into the training and validation rows of a language model. Rows are selected as in
// run_clm of Transformers.
#pragma once

#include <string>
#include <vector>

#include "learn/data/rows/text_reader.h"

namespace hone {

struct TextFiles {
  // Paths, globs, or folders of the datasets library; of a DatasetDict the splits `train` and `validation` are used.
  std::vector<std::string> train_files, validation_files;
  RowOptions rows;
  // The column of the texts. "": the column `text`; if it does not exist, the member only_text_column decides.
  std::string text_column;
  // Used only if text_column is "" and there is no column `text`. true: takes the only column that holds text, as
  // only_text_column() of files.h; false: takes the first column.
  bool only_text_column = false;
  // The name of the setting that sets text_column, for messages.
  std::string column_name = "`text_column`";
  // This percentage of the rows of train_files, from the first on, is the validation set. The run does not train on
  // these rows, even if it does not evaluate. Has no effect if there are validation_files, if has_validation is true,
  // or if train_files is one dataset folder with a validation split.
  double validation_split_percentage = 5;
  // The largest number of rows or blocks to use for training and for evaluation, from the first on, counted after
  // grouping; -1: all.
  int64_t max_train_samples = -1, max_eval_samples = -1;
  double fraction_of_train_data = 1;  // in (0, 1]: uses the first part of the training rows
  bool want_train = true, want_eval = false;
  // true: a validation set exists elsewhere, and no training rows are kept for validation.
  bool has_validation = false;
  bool eval_optional = false;  // true: no error if no training rows are kept for validation
  // The caller sets grouping, block_size and eos; find_parts sets column, first_row and end_row.
  TextOptions options;
  // If a file is a folder of prepared shards (shards.h): the settings that the shards must have been made with.
  OrderedJson shard_settings;
};

// The index of the column that TextFiles::text_column and only_text_column choose. Errors: those of the functions
// text_column, only_text_column and check_no_numbers (files.h).
Result<size_t> chosen_column(RowReader& rows, const TextFiles& files);

// The files and rows of one split. They are not read yet.
struct TextPart {
  std::string split;  // "train" or "validation"
  std::vector<std::string> files;
  RowOptions rows;
  TextOptions options;    // column, first_row and end_row are set
  bool optional = false;  // true: it is not an error if the rows of this part do not fill a block
};
// Finds the splits that are wanted, training before validation. Reads train_files once to count rows if some of them
// are kept for validation. Appends to `notes` sentences for the log. Errors: those of files.h; H2101 no file is
// named; H2115 no row is left for training or for validation; H2113 there are no rows.
Result<std::vector<TextPart>> find_parts(const TextFiles& files, std::vector<std::string>& notes);

// Reads and tokenizes all rows of a part. Errors: those of open_rows and read_text_rows.
Result<TextData> read_part(const TextPart& part, const Tokenize& tokenize);

// The names of the splits.
inline constexpr const char *kTrainSplit = "train", *kValidationSplit = "validation";
// True if validation_files is empty and train_files is one dataset folder with a validation split; find_parts then uses
// that split.
Result<bool> has_validation_split(const TextFiles& files);

// A text for the summary of a run, such as
// "1 row -> 3,540 tokens -> 3 blocks of 1,024 tokens (...); 468 tokens (13.2 %) dropped".
std::string describe(const TextCounts& counts, const TextOptions& options);

// The value of the setting sample_by: "line", "paragraph" or "document". Errors: H2115 another name.
Result<SampleBy> sample_by_of(const std::string& name);

}  // namespace hone

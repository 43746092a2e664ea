// Makes the rows of prepared shards (`hone prepare`) for tasks whose rows have a label or a target. Tasks that train on
// plain text use text_source.h.
#pragma once

#include "base/core/threads.h"
#include "learn/data/shards/row_shards.h"
#include "learn/harness/data_flags.h"
#include "learn/harness/settings.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

struct Task;

struct PreparedSource {
  // Sets do_train, do_eval and do_predict of the task's settings for the splits that the data flags name.
  std::function<void()> choose_splits;
  // Returns the files that the settings name. Errors: those of data_flags.h.
  std::function<Result<LabelSources>()> sources;
  // Returns the values, other than the files, on which the rows depend: the hash of the tokenizer, and settings by
  // name. Errors: H2413 the model has no tokenizer.
  std::function<Result<OrderedJson>(const Pretrained&)> shard_settings;
  // Reads the rows of each split. `notes` receives notes on the data, one sentence each. Errors: those of the task's
  // data.
  std::function<Result<std::vector<RowSplit>>(const Pretrained&, const LabelSources&, ThreadPool&,
                                              std::vector<std::string>& notes)>
      splits;
  // True: the rows of a file do not depend on the other files, so each file can be prepared alone (shard_cache.h).
  bool splits_by_file = false;
};

// The choices of --data_format: "" (the format follows from the file's extension) and the names of all formats.
// `with_text` false: without the format "text", in which each line is a row.
std::vector<std::string> data_formats(bool with_text);
// A request for the data that the data flags in `s` name. `test_file`: files of rows to predict.
LabelSourceRequest named_sources(const TaskSettings& s, const std::vector<std::string>& test_file);
// Sets do_train, do_eval and do_predict for the splits that the flags name. do_train: there is a training file.
// do_eval: there is a validation file, or a part of the training rows is for validation. do_predict: `test_file` is not
// empty. If the flags name a data set or no file at all, do_train and do_eval become true.
void want_named_splits(TaskSettings& s, const std::vector<std::string>& test_file);
// The splits that have files, with their files. Replaces patterns such as *.jsonl by the files that match.
Result<std::vector<PreparedFiles>> split_files(const LabelSources& sources);

// SHA-256 of the tokenizer's tokenizer.json, in hexadecimal. White space and the order of keys do not change it.
std::string tokenizer_hash(const Tokenizer& tokenizer);
// Adds to `j`, by name, the values of those settings of `schema` whose line in settings.def has the word `rows` or
// `reading` (learn/train/ledger.h). A setting that has only the word `reading` is added only if `all` is true or its
// value differs from the default. `chosen`: values that are used instead of those of the settings, because the model or
// the data set decides them.
void add_row_settings(const Schema& schema, const OrderedJson& chosen, bool all, OrderedJson& j);

}  // namespace hone

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
  // Sets do_train, do_eval and do_predict of the task's settings to the splits that the data flags name.
  std::function<void()> choose_splits;
  // The files that the settings name. Errors: those of data_flags.h.
  std::function<Result<LabelSources>()> sources;
  // The settings and the tokenizer that decide the rows, besides the files. Errors: H2413 the model has no tokenizer.
  std::function<Result<OrderedJson>(const Pretrained&)> shard_settings;
  // Reads the rows of each split. `notes` receives notes on the data, one sentence each. Errors: those of the task's
  // data.
  std::function<Result<std::vector<RowSplit>>(const Pretrained&, const LabelSources&, ThreadPool&,
                                              std::vector<std::string>& notes)>
      splits;
  bool splits_by_file = false;  // true: the rows of a file do not depend on the other files
};

// The choices of --data_format: "" (by the file's extension) and the names of all formats. `with_text`: also the format
// "text", in which each line is a row.
std::vector<std::string> data_formats(bool with_text);
// A request for the data that the flags common to these tasks name. `test_file`: files of rows to predict.
LabelSourceRequest named_sources(const TaskSettings& s, const std::vector<std::string>& test_file);
// Sets do_train, do_eval and do_predict to the splits that the flags name. If they name a data set or no file at all,
// training and validation are set.
void want_named_splits(TaskSettings& s, const std::vector<std::string>& test_file);
// The splits that have files, with their files. Replaces patterns such as *.jsonl by the files that match.
Result<std::vector<PreparedFiles>> split_files(const LabelSources& sources);

// SHA-256 of the tokenizer's tokenizer.json, in hexadecimal. Spaces and the order of keys do not change it.
std::string tokenizer_hash(const Tokenizer& tokenizer);
// Adds to `j` the settings of `schema` that decide `rows` or `reading` (learn/train/ledger.h), by name. Settings of
// `reading` are added only if `all` is true or if their value differs from the default. `chosen`: values that replace
// those of the settings, because the model or the data set decides them.
void add_row_settings(const Schema& schema, const OrderedJson& chosen, bool all, OrderedJson& j);

}  // namespace hone

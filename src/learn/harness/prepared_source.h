// Rows with a label or a target for prepared shards: hone prepare of tasks that do not train on
// plain text (text_source.h).
#pragma once

#include "base/core/threads.h"
#include "learn/data/shards/row_shards.h"
#include "learn/harness/data_flags.h"
#include "learn/harness/settings.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

struct Task;

struct PreparedSource {
  // From now on, read all splits that the data flags name.
  std::function<void()> choose_splits;
  // The files of the settings. Errors: those of data_flags.h.
  std::function<Result<LabelSources>()> sources;
  // Everything besides the files that decides the rows. H2413 if the model has no tokenizer.
  std::function<Result<OrderedJson>(const Pretrained&)> shard_settings;
  // Errors: those of the task's data.
  std::function<Result<std::vector<RowSplit>>(const Pretrained&, const LabelSources&, ThreadPool&,
                                              std::vector<std::string>& notes)>
      splits;
  bool splits_by_file = false;  // the rows of a file do not depend on the other files
};

// Choices of --data_format: "" for the file's extension, and the formats of the shelf; `with_text`:
// also the format whose rows are lines.
std::vector<std::string> data_formats(bool with_text);
// The source for the flags that all such tasks share.
LabelSourceRequest named_sources(const TaskSettings& s, const std::vector<std::string>& test_file);
// Turns on all splits of the flags; without any file, flags name a data set, folder or task.
void want_named_splits(TaskSettings& s, const std::vector<std::string>& test_file);
// Each split with its files, globs expanded.
Result<std::vector<PreparedFiles>> split_files(const LabelSources& sources);

// SHA-256 of tokenizer.json, independent of spaces and the order of keys.
std::string tokenizer_hash(const Tokenizer& tokenizer);
// Adds to `j` the settings of `schema` that decide `rows` and `reading` (learn/train/ledger.h);
// those of reading only with `all` or if they differ from the default. `chosen`: values of the
// model or the data set that replace them.
void add_row_settings(const Schema& schema, const OrderedJson& chosen, bool all, OrderedJson& j);

}  // namespace hone

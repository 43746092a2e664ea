// Rows with a label or a target, for prepared shards: what tasks that do not learn from text alone
// (text_source.h) have for hone prepare.
#pragma once

#include "base/core/threads.h"
#include "learn/data/shards/row_shards.h"
#include "learn/harness/data_flags.h"
#include "learn/harness/settings.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

struct Task;

struct PreparedSource {
  // All splits that the data flags name are wanted from now on.
  std::function<void()> choose_splits;
  // The files that the settings mean. Errors: those of data_flags.h.
  std::function<Result<LabelSources>()> sources;
  // All that decides the rows besides the files. H2413 when the model has no tokenizer.
  std::function<Result<OrderedJson>(const Pretrained&)> shard_settings;
  // Errors: those of the task's data.
  std::function<Result<std::vector<RowSplit>>(const Pretrained&, const LabelSources&, ThreadPool&,
                                              std::vector<std::string>& notes)>
      splits;
  bool splits_by_file = false;  // the rows of a file do not depend on the other files
};

// Choices of --data_format: "", for the file's extension, and the formats of the shelf; `with_text`:
// also the one whose rows are lines.
std::vector<std::string> data_formats(bool with_text);
// What the flags that all such tasks have ask for.
LabelSourceRequest named_sources(const TaskSettings& s, const std::vector<std::string>& test_file);
// All splits that the flags name; without any file, a data set, folder or task is named.
void want_named_splits(TaskSettings& s, const std::vector<std::string>& test_file);
// Each split with its files, globs expanded.
Result<std::vector<PreparedFiles>> split_files(const LabelSources& sources);

// SHA-256 of tokenizer.json, in which spaces and the order of keys do not count.
std::string tokenizer_hash(const Tokenizer& tokenizer);
// Adds to `j` the settings of `schema` that decide `rows` and `reading` (learn/train/ledger.h), those
// of reading with `all` or where they are not the default. `chosen`: values that the model or the
// data set have in their place.
void add_row_settings(const Schema& schema, const OrderedJson& chosen, bool all, OrderedJson& j);

}  // namespace hone

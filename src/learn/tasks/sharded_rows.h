// Rows with a label or a target, for prepared shards: what tasks that do not learn from text alone
// (text_rows.h) have for hone prepare.
#pragma once

#include "base/core/threads.h"
#include "learn/data/shards/row_shards.h"
#include "learn/tasks/label_sources.h"
#include "learn/tasks/task_settings.h"

namespace hone {

class ShardedRows {
 public:
  virtual ~ShardedRows() = default;

  // All splits that the data flags name are wanted from now on.
  virtual void choose_splits() = 0;
  // The files that the settings mean. Errors: those of label_sources.h.
  virtual Result<LabelSources> sources() const = 0;
  // All that decides the rows besides the files. H2407 when the model has no tokenizer.
  virtual Result<OrderedJson> shard_settings(const Pretrained& model) const = 0;
  // Errors: those of the task's data.
  virtual Result<std::vector<RowSplit>> row_splits(const Pretrained& model,
                                                   const LabelSources& sources, ThreadPool& pool,
                                                   std::vector<std::string>& notes) const = 0;
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

// Errors: H2407 when there is none.
Result<const Tokenizer*> tokenizer_of(const Pretrained& model);
// SHA-256 of tokenizer.json, in which spaces and the order of keys do not count.
std::string tokenizer_hash(const Tokenizer& tokenizer);
// Adds to `j` the settings that decide `rows` and `reading` (learn/train/ledger.h), those of reading
// with `all` or where they are not the default. `chosen`: values that the model or the data set have
// in their place.
void add_row_settings(const TaskSettings& s, const OrderedJson& chosen, bool all, OrderedJson& j);

}  // namespace hone

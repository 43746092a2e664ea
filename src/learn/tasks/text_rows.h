// Rows of token ids for tasks that learn from text alone: files, data sets, prepared shards.
#pragma once

#include "base/core/threads.h"
#include "learn/data/shards/load_text.h"
#include "learn/datasets/dataset.h"
#include "learn/tasks/task_settings.h"

namespace hone {

struct TextSettings {
#define HONE_SETTINGS "learn/tasks/text_settings.def"
#include "base/settings/fields.inc"
};

struct TextWish {
  bool train = true, eval = false;
  std::string cache_dir, token;  // for data sets of the hub
};

// How a task makes rows of ids out of text.
class TextRows {
 public:
  virtual ~TextRows() = default;

  // What the data flags name; `notes` say how names were understood. Errors: those of find_sources,
  // H2115, H2116.
  virtual Result<TextFiles> files(const Pretrained& model, const TextWish& wish,
                                  std::vector<std::string>& notes) const = 0;
  // The settings that decide the rows of prepared shards. With `all`, as hone prepare notes them;
  // else those that a run which takes the shards depends on: the way the text was read only where
  // it is not the default.
  virtual OrderedJson shard_settings(const Pretrained& model, const TextOptions& causal,
                                     bool all) const = 0;
  // The model, the pool and this must outlive the function. H2404 when the model has no tokenizer.
  virtual Tokenize tokenize(const Pretrained& model, ThreadPool* pool) const = 0;
};

// The settings of such a task.
class TextTaskSettings : public TaskSettings, public TextSettings, public TextRows {
 public:
  const TextRows* text_rows() const final { return this; }
};

// The data set that the flags name.
DatasetRequest named_dataset(const DataSettings& data, const std::string& cache_dir,
                             const std::string& token);

// What all of them share. The files of the data flags, without the way rows are made of them:
Result<TextFiles> named_files(const DataSettings& data, const TextSettings& text,
                              const TextWish& wish, std::vector<std::string>& notes);
// whether some of these are shard folders, which come with settings of their own;
bool has_shards(const TextFiles& files);
// and texts through the model's tokenizer, with its special tokens.
Tokenize tokenize_with(const Pretrained& model, ThreadPool* pool);

// Bytes that --streaming holds of rows of `row_tokens` tokens; 0 without it.
int64_t stream_bytes(const TrainSettings& s, int64_t row_tokens);

}  // namespace hone

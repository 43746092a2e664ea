// Rows of token ids for tasks that learn from text alone: files, data sets, prepared shards, streams.
#pragma once

#include "base/core/threads.h"
#include "learn/data/rows/text_files.h"
#include "learn/datasets/dataset.h"
#include "learn/harness/examples.h"
#include "learn/harness/settings.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

struct TextSettings {
#define HONE_SETTINGS "learn/harness/text_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
};

// Which splits are wanted.
struct WantedSplits {
  bool train = true, eval = false;
};

// How a task makes rows of ids out of text.
struct TextSource {
  // What the data flags name; `notes` say how names were understood. Errors: those of find_sources,
  // H2115, H2116.
  std::function<Result<TextFiles>(const Pretrained&, const WantedSplits&,
                                  std::vector<std::string>& notes)>
      files;
  // The settings that decide the rows of prepared shards. With `all`, as hone prepare notes them;
  // else those that a run which takes the shards depends on: the way the text was read only where
  // it is not the default.
  std::function<OrderedJson(const Pretrained&, const TextOptions&, bool all)> shard_settings;
  // Model and pool must outlive the function. H2413 when the model has no tokenizer.
  std::function<Tokenize(const Pretrained&, ThreadPool*)> tokenize;
};

// The rows of a run: given ones, or those of the text, in memory, mapped, or streamed with
// --streaming; notes go to the log. Errors: those of the text and of load_text.h, H2117, H2414 what
// --streaming cannot do.
Result<Examples> read_texts(const TaskSettings& s, const TextSource& text, const Pretrained& model,
                            const ExampleSource& source);
// H2402 for given rows of a task that does not learn from text alone.
Status refuse_given_rows(const ExampleSource& source);

// How data were understood, on the first screen.
void show_notes(const std::vector<std::string>& notes);

// The data set that the flags name.
DatasetRequest named_dataset(const TaskSettings& s);
// The files of the data flags, without the way rows are made of them.
Result<TextFiles> named_files(const TaskSettings& s, const TextSettings& text,
                              const WantedSplits& splits, std::vector<std::string>& notes);
// Whether some of these are shard folders, which come with settings of their own.
bool has_shards(const TextFiles& files);
// Texts through the model's tokenizer, with its special tokens.
Tokenize tokenize_with(const Pretrained& model, ThreadPool* pool);

// Bytes that --streaming holds of rows of `row_tokens` tokens; 0 without it.
int64_t stream_bytes(const TrainSettings& s, int64_t row_tokens);

}  // namespace hone

// Rows of token ids for tasks that train on plain text: files, data sets, prepared shards, streams.
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

// The splits to read.
struct WantedSplits {
  bool train = true, eval = false;
};

// Makes rows of ids from text.
struct TextSource {
  // The files of the data flags; `notes` explain how names were understood. Errors: those of
  // find_sources, H2115, H2116.
  std::function<Result<TextFiles>(const Pretrained&, const WantedSplits&,
                                  std::vector<std::string>& notes)>
      files;
  // The settings that decide the rows of prepared shards. With `all`, the record of hone prepare;
  // else the settings that must match in a run that uses the shards: how text is read only if it is
  // not the default.
  std::function<OrderedJson(const Pretrained&, const TextOptions&, bool all)> shard_settings;
  // Model and pool must outlive the function. H2413 if the model has no tokenizer.
  std::function<Tokenize(const Pretrained&, ThreadPool*)> tokenize;
  // The switch with which each row is a row of the file; without it, rows are blocks of several.
  std::string apart;
};

// The rows of a run: given ones, or those of the text, in memory, mapped, or streamed with
// --streaming; notes go to the log. Errors: those of the text and of load_text.h, H2117, H2414 what
// --streaming cannot do.
Result<Examples> read_texts(const TaskSettings& s, const TextSource& text, const Pretrained& model,
                            const ExampleSource& source);
// H2402 if rows are given and the task does not train on plain text.
Status refuse_given_rows(const ExampleSource& source);

// Prints the notes on the data in the summary of the run, with the flags of the schema in place of the settings that they
// name; without one, those that all tasks have.
void show_notes(const Schema& schema, const std::vector<std::string>& notes);
void show_notes(const std::vector<std::string>& notes);

// The data set that the flags name.
DatasetRequest named_dataset(const TaskSettings& s);
// The files of the data flags; how rows are made of them is left open.
Result<TextFiles> named_files(const TaskSettings& s, const TextSettings& text,
                              const WantedSplits& splits, std::vector<std::string>& notes);
// Whether some of these are folders of shards, which have settings of their own.
bool has_shards(const TextFiles& files);
// A function that encodes texts with the model's tokenizer and its special tokens.
Tokenize tokenize_with(const Pretrained& model, ThreadPool* pool);

// Bytes that --streaming holds for rows of `row_tokens` tokens; 0 without it.
int64_t stream_bytes(const TrainSettings& s, int64_t row_tokens);

}  // namespace hone

// For tasks that train on plain text: makes rows of token ids from files, data sets, prepared shards or streams.
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

struct WantedSplits {
  bool train = true, eval = false;  // whether to read this split
};

// The functions of a task that make rows of token ids from text.
struct TextSource {
  // Finds the files that the data flags name. `notes` receives one sentence for each choice that the flags leave open,
  // such as the splits of a data set. Errors: those of find_sources; H2115 an impossible split or sample count; H2116
  // an unknown encoding.
  std::function<Result<TextFiles>(const Pretrained&, const WantedSplits&,
                                  std::vector<std::string>& notes)>
      files;
  // Returns the settings that decide the rows of prepared shards, by name. `all` true: all of them, for the manifest
  // that hone prepare writes. `all` false: only those that must be equal in a run that uses the shards. With `all`
  // false, a setting with the word `reading` (learn/train/ledger.h) is included only if it differs from its default.
  std::function<OrderedJson(const Pretrained&, const TextOptions&, bool all)> shard_settings;
  // Returns a function that encodes texts. Model and pool must outlive that function. The function fails with H2413 if
  // the model has no tokenizer.
  std::function<Tokenize(const Pretrained&, ThreadPool*)> tokenize;
  // Name of the task's flag that makes one row of tokens from each row of a file, such as "line_by_line". Without that
  // flag, the rows of a file are joined and cut into blocks.
  std::string apart;
};

// Reads the rows of a run. If source.rows is set, they are the training rows. Otherwise the rows are made from the
// files of `text`: in memory, or mapped from prepared shards, or as streams with --streaming. Prints notes on the data.
// Errors: those of the functions of `text` and of load_text.h; H2117 the rows do not fit into memory; H2414 a setting
// does not work with --streaming.
Result<Examples> read_texts(const TaskSettings& s, const TextSource& text, const Pretrained& model,
                            const ExampleSource& source);
// For tasks that do not train on plain text: returns H2402 if source.rows is set.
Status refuse_given_rows(const ExampleSource& source);

// Prints notes on the data in the summary of the run. If a note contains the name of a setting, the name is printed as
// a flag. This applies to the settings of the schema; without a schema, to the data settings that all tasks have.
void show_notes(const Schema& schema, const std::vector<std::string>& notes);
void show_notes(const std::vector<std::string>& notes);

// The data set that the flags name; its name is "" if they name none.
DatasetRequest named_dataset(const TaskSettings& s);
// The files that the data flags name, with the settings for reading them. The caller must still set the members of the
// result that decide how rows are made from the text. Errors: those of find_sources; H2115 an impossible split or
// sample count; H2116 an unknown encoding.
Result<TextFiles> named_files(const TaskSettings& s, const TextSettings& text,
                              const WantedSplits& splits, std::vector<std::string>& notes);
// Whether one of the files is a folder of prepared shards.
bool has_shards(const TextFiles& files);
// Returns a function that encodes texts with the model's tokenizer, with special tokens. Model and pool must outlive
// the function. `pool`: null: the function works on the calling thread. The function returns H2413 if the model has no
// tokenizer.
Tokenize tokenize_with(const Pretrained& model, ThreadPool* pool);

// Bytes of memory that --streaming takes for training rows of `row_tokens` tokens; 0 without --streaming.
int64_t stream_bytes(const TrainSettings& s, int64_t row_tokens);

}  // namespace hone

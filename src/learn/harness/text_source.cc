#include "learn/harness/text_source.h"

#include <algorithm>

#include "base/core/hash.h"
#include "base/core/log.h"
#include "base/settings/flag_names.h"
#include "base/store/store.h"
#include "learn/data/rows/errors.h"
#include "learn/data/shards/load_text.h"
#include "learn/data/shards/shards.h"
#include "learn/datasets/sources.h"
#include "learn/harness/encode.h"
#include "learn/harness/errors.h"
#include "learn/train/errors.h"

namespace hone {

void show_notes(const Schema& schema, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) log_info("{:<11} {}", "data", with_flags(schema, note));
}

void show_notes(const std::vector<std::string>& notes) {
  DataSettings of_all_tasks;
  Schema schema("", "");
  of_all_tasks.bind(schema);
  show_notes(schema, notes);
}

namespace {

Result<Examples> open_streams(const TaskSettings& s, const TextFiles& files, const TextSource& text,
                              const Pretrained& model) {
  if (s.do_train && s.max_steps < 1)
    return Error(err::kStreaming, "--streaming does not know how many rows there are")
        .todo("say how many steps to train: --max_steps N");
  if (s.fraction_of_train_data < 1)
    return Error(err::kStreaming,
                 "--fraction_of_train_data needs the number of rows, which "
                 "--streaming does not know")
        .todo("take the first rows by --max_train_samples");
  if (!files.shard_settings.is_null())
    return Error(err::kStreaming, "prepared shards are mapped, which takes no memory already")
        .todo("leave --streaming out");
  Examples out;
  std::vector<std::string> notes;
  const std::vector<TextPart> parts = HONE_TRY(find_parts(files, notes));
  show_notes(notes);
  for (const TextPart& part : parts) {
    const bool train = part.split == "train";
    StreamOptions o;
    o.seed = s.order_seed();
    o.shuffle = train && s.shuffles();
    o.window_rows = o.shuffle ? s.buffer_size : 1;
    o.max_rows = train ? s.max_train_samples : s.max_eval_samples;
    o.read_at_once = train && s.continued_from.empty();
    // No pool here: steps use it at the same time.
    (train ? out.train_stream : out.eval_stream) =
        HONE_TRY(TextStream::open(part, text.tokenize(model, nullptr), o));
    OrderedJson sources = OrderedJson::array();
    for (const std::string& file : part.files) {
      const auto bytes = HONE_TRY(file_store().bytes(file));
      sources.push_back(OrderedJson::array({file, bytes}));
    }
    if (train)
      out.hash = fnv1a(sources.dump() + text.shard_settings(model, part.options, true).dump());
    log_info("{:<11} {}: streamed{}", "data", part.split,
             o.shuffle ? fmt::format(", {} rows at a time in random order", o.window_rows) : "");
  }
  return out;
}

}  // namespace

Result<Examples> read_texts(const TaskSettings& s, const TextSource& text, const Pretrained& model,
                            const ExampleSource& source) {
  Examples out;
  if (source.rows) {
    out.train = *source.rows;
    out.hash = out.train->axes[0].hash();
    return out;
  }
  std::vector<std::string> notes;
  const TextFiles files = HONE_TRY(text.files(model, {s.do_train, s.do_eval}, notes));
  show_notes(notes);
  if (s.streaming) return open_streams(s, files, text, model);
  Result<TextSplits> read = load_text(files, text.tokenize(model, &source.pool));
  if (!read.ok() && read.error().is(err::kRowsDoNotFit))
    read.error().todo("use --streaming; or " + read.error().remedy());
  TextSplits splits = HONE_TRY(std::move(read));
  show_notes(splits.notes);
  if (s.do_train) {
    out.hash = splits.train.rows.hash();
    out.train.emplace(std::move(splits.train.rows));
  }
  if (s.do_eval) out.eval.emplace(std::move(splits.eval.rows));
  return out;
}

Status refuse_given_rows(const ExampleSource& source) {
  if (!source.rows) return Ok{};
  return Error(err::kNothingToDo, "the task does not learn from token ids alone")
      .todo("name its data by --train_file");
}

DatasetRequest named_dataset(const TaskSettings& s) {
  DatasetRequest request{s.dataset_name, s.dataset_config_name};
  request.hub.revision = s.dataset_revision;
  request.hub.cache_dir = s.cache_dir;
  if (!s.token.empty()) request.hub.token = s.token;
  return request;
}

Result<TextFiles> named_files(const TaskSettings& s, const TextSettings& text,
                              const WantedSplits& splits, std::vector<std::string>& notes) {
  SourceRequest request;
  request.dataset = named_dataset(s);
  request.train_file = s.train_file;
  request.validation_file = s.validation_file;
  request.want_train = splits.train;
  request.want_validation = splits.eval;
  DataSources sources = HONE_TRY(find_sources(request));
  notes = std::move(sources.notes);
  TextFiles files;
  files.train_files = std::move(sources.train);
  files.validation_files = std::move(sources.validation);
  files.has_validation = sources.has_validation;
  files.want_train = splits.train;
  files.want_eval = splits.eval;
  files.rows.sample_by = HONE_TRY(sample_by_of(text.sample_by));
  files.rows.encoding = HONE_TRY(encoding_of(s.encoding));
  if (!text.text_column.empty()) files.rows.header_example = text.text_column;
  files.text_column = text.text_column;
  files.column_name = "--text_column";
  files.validation_split_percentage = s.validation_split_percentage;
  files.max_train_samples = s.max_train_samples;
  files.max_eval_samples = s.max_eval_samples;
  files.fraction_of_train_data = s.fraction_of_train_data;
  return files;
}

bool has_shards(const TextFiles& files) {
  const auto shards = [](const std::vector<std::string>& paths) {
    return std::any_of(paths.begin(), paths.end(), is_shard_folder);
  };
  return shards(files.train_files) || shards(files.validation_files);
}

Tokenize tokenize_with(const Pretrained& model, ThreadPool* pool) {
  return [&model, pool](std::span<const std::string_view> texts,
                        std::vector<std::vector<int32_t>>& ids) -> Status {
    ids = HONE_TRY(tokenizer_of(model))->encode_batch(texts, pool);
    return Ok{};
  };
}

int64_t stream_bytes(const TrainSettings& s, int64_t row_tokens) {
  // Two windows: steps take rows from one while the other is read.
  return s.streaming && s.do_train
             ? 2 * s.buffer_size * row_tokens * static_cast<int64_t>(sizeof(int32_t))
             : 0;
}

#define HONE_BIND TextSettings::bind
#define HONE_SETTINGS "learn/harness/text_settings.def"
#include "base/settings/bind.inc"

}  // namespace hone

#include "learn/tasks/text_rows.h"

#include <algorithm>

#include "learn/data/shards/shards.h"
#include "learn/datasets/sources.h"
#include "learn/tasks/sharded_rows.h"
#include "learn/train/errors.h"

namespace hone {

DatasetRequest named_dataset(const DataSettings& data, const std::string& cache_dir,
                             const std::string& token) {
  DatasetRequest request{data.dataset_name, data.dataset_config_name};
  request.hub.revision = data.dataset_revision;
  request.hub.cache_dir = cache_dir;
  if (!token.empty()) request.hub.token = token;
  return request;
}

Result<TextFiles> named_files(const DataSettings& data, const TextSettings& text,
                              const TextWish& wish, std::vector<std::string>& notes) {
  SourceRequest request;
  request.dataset = named_dataset(data, wish.cache_dir, wish.token);
  request.train_file = data.train_file;
  request.validation_file = data.validation_file;
  request.want_train = wish.train;
  request.want_validation = wish.eval;
  DataSources sources = HONE_TRY(find_sources(request));
  notes = std::move(sources.notes);
  TextFiles files;
  files.train_files = std::move(sources.train);
  files.validation_files = std::move(sources.validation);
  files.has_validation = sources.has_validation;
  files.want_train = wish.train;
  files.want_eval = wish.eval;
  files.rows.sample_by = HONE_TRY(sample_by_of(text.sample_by));
  files.rows.encoding = HONE_TRY(encoding_of(data.encoding));
  files.text_column = text.text_column;
  files.validation_split_percentage = data.validation_split_percentage;
  files.max_train_samples = data.max_train_samples;
  files.max_eval_samples = data.max_eval_samples;
  files.fraction_of_train_data = data.fraction_of_train_data;
  return files;
}

bool has_shards(const TextFiles& files) {
  const auto shards = [](const std::vector<std::string>& paths) {
    return std::any_of(paths.begin(), paths.end(), is_shard_folder);
  };
  return shards(files.train_files) || shards(files.validation_files);
}

Schema TaskSettings::described() const {
  Schema schema("hone train", "");
  const_cast<TaskSettings*>(this)->bind(schema);  // which would write into them when it parses
  return schema;
}

Tokenize tokenize_with(const Pretrained& model, ThreadPool* pool) {
  return [&model, pool](std::span<const std::string_view> texts,
                        std::vector<std::vector<int32_t>>& ids) -> Status {
    ids = HONE_TRY(tokenizer_of(model))->encode_batch(texts, pool);
    return Ok{};
  };
}

int64_t stream_bytes(const TrainSettings& s, int64_t row_tokens) {
  return s.streaming && s.do_train
             ? s.buffer_size * row_tokens * static_cast<int64_t>(sizeof(int32_t))
             : 0;
}

}  // namespace hone

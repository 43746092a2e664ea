#include "learn/tasks/clm_data.h"

#include <algorithm>

#include "base/store/hash.h"
#include "learn/data/shards.h"
#include "learn/datasets/sources.h"
#include "learn/train/errors.h"

namespace hone {

int64_t block_size_of(const ClmDataSettings& s, const ModelConfig& config) {
  return std::min(s.block_size > 0 ? s.block_size : int64_t{1024}, config.max_positions);
}

Result<CausalFiles> causal_files(const ClmDataSettings& s, const Pretrained& model, int64_t block,
                                 const ClmDataWish& wish, std::vector<std::string>& notes) {
  SourceRequest request;
  request.dataset = {s.dataset_name, s.dataset_config_name};
  request.dataset.hub.revision = s.dataset_revision;
  request.dataset.hub.cache_dir = wish.cache_dir;
  if (!wish.token.empty()) request.dataset.hub.token = wish.token;
  request.train_file = s.train_file;
  request.validation_file = s.validation_file;
  request.want_train = wish.train;
  request.want_validation = wish.eval;
  DataSources sources = HONE_TRY(find_sources(request));
  notes = std::move(sources.notes);
  CausalFiles files;
  files.train_files = std::move(sources.train);
  files.validation_files = std::move(sources.validation);
  files.has_validation = sources.has_validation;
  files.want_train = wish.train;
  files.want_eval = wish.eval;
  files.rows.keep_linebreaks = s.keep_linebreaks;
  files.rows.sample_by = HONE_TRY(sample_by_of(s.sample_by));
  files.rows.encoding = HONE_TRY(encoding_of(s.encoding));
  files.text_column = s.text_column;
  files.validation_split_percentage = s.validation_split_percentage;
  files.max_train_samples = s.max_train_samples;
  files.max_eval_samples = s.max_eval_samples;
  files.fraction_of_train_data = s.fraction_of_train_data;
  files.causal.grouping = s.packing ? Grouping::kRows : Grouping::kBlocks;
  files.causal.block_size = block;
  if (model.tokenizer) files.causal.eos = model.tokenizer->eos_id();
  const Json& config = model.config.config;
  if (!files.causal.eos && config.contains("eos_token_id") &&
      config["eos_token_id"].is_number_integer())
    files.causal.eos = config["eos_token_id"].get<int32_t>();
  const auto shards = [](const std::vector<std::string>& paths) {
    return std::any_of(paths.begin(), paths.end(), is_shard_folder);
  };
  if (shards(files.train_files) || shards(files.validation_files))
    files.shard_settings = shard_settings(s, model, files.causal, false);
  return files;
}

OrderedJson shard_settings(const ClmDataSettings& s, const Pretrained& model,
                           const CausalOptions& causal, bool all) {
  OrderedJson j;
  if (all) j["task"] = "clm";
  if (model.tokenizer) {
    // Parsed, so that spaces and the order of keys do not count.
    const std::string text = dump_json(Json::parse(tokenizer_json(*model.tokenizer)));
    Sha256 hash;
    hash.add(std::as_bytes(std::span(text)));
    j["tokenizer"] = hash.hex();
  }
  j["packing"] = s.packing;
  j["block_size"] = causal.block_size;
  if (s.packing) j["eos_token_id"] = causal.eos ? OrderedJson(*causal.eos) : OrderedJson();
  const ClmDataSettings usual;
  const auto reading = [&](const char* key, const auto& value, const auto& common) {
    if (all || value != common) j[key] = value;
  };
  reading("text_column", s.text_column, usual.text_column);
  reading("sample_by", s.sample_by, usual.sample_by);
  reading("keep_linebreaks", s.keep_linebreaks, usual.keep_linebreaks);
  reading("encoding", s.encoding, usual.encoding);
  reading("validation_split_percentage", s.validation_split_percentage,
          usual.validation_split_percentage);
  return j;
}

Tokenize tokenize_with(const Pretrained& model, ThreadPool* pool) {
  return [&model, pool](std::span<const std::string_view> texts,
                        std::vector<std::vector<int32_t>>& ids) -> Status {
    if (!model.tokenizer)
      return Error(err::kNoData, fmt::format("the model '{}' has no tokenizer", model.name))
          .todo("name one by --tokenizer_name");
    ids = model.tokenizer->encode_batch(texts, pool);
    return Ok{};
  };
}

}  // namespace hone

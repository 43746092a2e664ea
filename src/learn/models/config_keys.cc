#include "learn/models/config_keys.h"

#include "base/core/text.h"
#include "learn/models/errors.h"

namespace hone {
namespace {

// Keys of Transformers' PreTrainedConfig, its settings of generation, and notes of tools that write
// configs.
// clang-format off
constexpr std::string_view kCommonKeys[] = {
    "model_type", "architectures", "dtype", "torch_dtype", "transformers_version",
    "_name_or_path", "name_or_path", "_model_name_or_path", "_attn_implementation",
    "attn_implementation", "_attn_implementation_autoset", "_commit_hash", "auto_map",
    "use_cache", "cache_implementation", "bos_token_id", "eos_token_id", "pad_token_id",
    "unk_token_id", "sep_token_id", "cls_token_id", "mask_token_id", "decoder_start_token_id",
    "id2label", "label2id", "num_labels", "problem_type", "finetuning_task",
    "task_specific_params", "classifier_dropout", "output_attentions", "output_hidden_states",
    "return_dict", "use_return_dict", "torchscript", "use_bfloat16", "tf_legacy_loss",
    "is_encoder_decoder", "is_decoder", "tie_encoder_decoder", "tie_word_embeddings",
    "cross_attention_hidden_size", "add_cross_attention", "chunk_size_feed_forward",
    "pruned_heads", "tokenizer_class", "prefix", "initializer_range", "quantization_config",
    "pretraining_tp", "unsloth_fixed", "unsloth_version", "max_length", "min_length", "do_sample",
    "early_stopping", "num_beams", "num_beam_groups", "diversity_penalty", "temperature", "top_k",
    "top_p", "typical_p", "repetition_penalty", "length_penalty", "no_repeat_ngram_size",
    "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences", "output_scores",
    "return_dict_in_generate", "forced_bos_token_id", "forced_eos_token_id",
    "remove_invalid_values", "exponential_decay_length_penalty", "suppress_tokens",
    "begin_suppress_tokens",
};
// clang-format on

bool is_common(const std::string& key) {
  return std::find(std::begin(kCommonKeys), std::end(kCommonKeys), key) != std::end(kCommonKeys);
}

}  // namespace

Status accept_keys(const ModelConfig& c, const nlohmann::json& usual,
                   const std::vector<const char*>& own) {
  for (const auto& [key, value] : c.config.items()) {
    const bool known = usual.contains(key) || is_common(key) ||
                       std::any_of(own.begin(), own.end(), [&](const char* k) { return key == k; });
    if (known || value.is_null()) continue;
    std::vector<std::string> keys(own.begin(), own.end());
    for (const auto& [name, unused] : usual.items()) keys.push_back(name);
    const std::string near = nearest_name(key, keys);
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: '{}' is not a key of the type {}", key,
                             c.text("model_type", "")))
        .todo(near.empty() ? std::string("remove the key if the model is the same without it")
                           : fmt::format("did you mean '{}'? remove the key if the model is the "
                                         "same without it",
                                         near));
  }
  return Ok{};
}

void add_missing_keys(ModelConfig& c, const nlohmann::json& usual,
                      std::initializer_list<const char*> rotation) {
  const bool turns = std::any_of(rotation.begin(), rotation.end(),
                                 [&](const char* key) { return c.config.contains(key); });
  for (const auto& [key, value] : usual.items())
    if (!c.config.contains(key) && !(key == "rope_parameters" && turns)) c.config[key] = value;
}

}  // namespace hone

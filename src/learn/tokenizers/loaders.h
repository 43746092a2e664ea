// What the loaders share: each turns its files into TokenizerParts.
#pragma once

#include <optional>
#include <string>

#include "learn/tokenizers/bpe.h"
#include "learn/tokenizers/config.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// The text of a tokenizer.json. add_prefix_space, when given, replaces that of its ByteLevel
// pre-tokenizer.
Result<TokenizerParts> read_tokenizer_json(std::string_view text, const std::string& where,
                                           std::optional<bool> add_prefix_space = {});

// Makes normalizer, pre_tokenizer, post_processor and decoder, those four members of a
// tokenizer.json, from `members`: "\"normalizer\":null,\"pre_tokenizer\":{...},...".
Status make_stages(std::string members, TokenizerParts& parts);

// Replaces parts.post_processor by the one that `json` describes.
Status replace_post_processor(const std::string& json, TokenizerParts& parts);

// vocab.json + merges.txt; the configuration decides what surrounds the model.
Result<TokenizerParts> read_vocab_merges(const std::string& vocab_path,
                                         const std::string& merges_path,
                                         const TokenizerConfig& config);

// A tiktoken rank file: lines "base64 rank".
bool is_tiktoken(std::string_view text);
Result<TokenizerParts> read_tiktoken(std::string_view text, const std::string& where,
                                     const TokenizerConfig& config);

// JSON of stages.
std::string byte_level_json(bool add_prefix_space, bool use_regex);
std::string split_then_bytes_json(std::string_view pattern, bool add_prefix_space);
// The four members for a byte-level tokenizer.
std::string stage_members(std::string_view normalizer, std::string_view pre_tokenizer,
                          std::string_view post_processor);
// TemplateProcessing that puts the given ids around each sequence.
std::string bos_eos_template(const std::string& bos, std::optional<int32_t> bos_id,
                             const std::string& eos, std::optional<int32_t> eos_id);

}  // namespace hone

// The files beside a tokenizer: tokenizer_config.json, special_tokens_map.json, added_tokens.json.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "learn/tokenizers/load/load.h"

namespace hone {

struct TokenizerConfig {
  std::string tokenizer_class;  // without "Fast" at its end; else told by config.json's model_type
  std::optional<bool> add_bos, add_eos, add_prefix_space;
  std::optional<bool> legacy_prefix;  // "legacy": every part of a text gets a prefix space
  std::optional<bool> lowercase, chinese, strip_accents;  // of BertTokenizer
  std::optional<bool> keep_accents;                       // of AlbertTokenizer
  std::optional<bool> split_by_punct;                     // of DebertaV2Tokenizer
  std::optional<int64_t> extra_ids;                       // sentinels of T5Tokenizer
  std::optional<int64_t> offset;                          // ids before PegasusTokenizer's pieces
  std::string source_lang, target_lang;                   // "src_lang" and "tgt_lang" of mBART
  bool targets = false;                                   // TokenizerSide's
  bool separate_vocabs = false;                           // of MarianTokenizer: target_vocab.json
  std::optional<std::string> mask_token_sent;             // of PegasusTokenizer; "": none
  bool mask_is_text = false;  // "mask_token" is a text: its flags are those of the class
  std::optional<int64_t> model_max_length;
  std::optional<bool> truncates_left;  // "truncation_side"
  // Named special tokens that the files give, by their name: "bos_token", "pad_token" ...
  std::vector<std::pair<std::string, AddedToken>> named;
  std::vector<AddedToken> listed;  // added_tokens_decoder in the order of its ids
  bool lists_tokens = false;       // it is there
  std::vector<AddedToken> extra;   // additional_special_tokens
  std::vector<AddedToken> legacy;  // added_tokens.json in the order of its ids
  std::string chat_template, tool_chat_template;
  std::vector<std::string> files;  // that were found and make up the configuration

  const AddedToken* find(std::string_view name) const;
  bool is_roberta() const;  // RoBERTa, BART and the like
  bool is_bert() const;     // BERT, DistilBERT, ELECTRA and the like
  bool is_t5() const {
    return tokenizer_class == "T5Tokenizer" || tokenizer_class == "MT5Tokenizer";
  }
  bool is_byt5() const { return tokenizer_class == "ByT5Tokenizer"; }
  bool is_mbart() const {
    return tokenizer_class == "MBartTokenizer" || tokenizer_class == "MBart50Tokenizer";
  }
  bool is_deberta() const { return tokenizer_class == "DebertaTokenizer"; }  // version 1
  bool is_mpnet() const { return tokenizer_class == "MPNetTokenizer"; }
  // Encoders whose classes put their own stages around a SentencePiece model, also one from a
  // tokenizer.json.
  bool is_spm_encoder() const {
    return tokenizer_class == "AlbertTokenizer" || tokenizer_class == "CamembertTokenizer" ||
           tokenizer_class == "DebertaV2Tokenizer";
  }
  // Classes that Transformers makes of the pieces of a SentencePiece model, with ids of their own or
  // the model's.
  bool renumbers() const {
    return is_mbart() || is_spm_encoder() || tokenizer_class == "XLMRobertaTokenizer" ||
           tokenizer_class == "PegasusTokenizer";
  }
  bool is_llama() const { return tokenizer_class == "LlamaTokenizer"; }
};

// Reads what there is in the folder; a missing file is not an error. As in Transformers 5,
// special_tokens_map.json and added_tokens.json count only without an added_tokens_decoder.
Result<TokenizerConfig> read_tokenizer_config(const std::string& folder);

// Adds the configured tokens to parts.added like Transformers 5, sets the named tokens (with the
// defaults of the tokenizer class if the vocabulary has them), the maximum length and the template.
// Ids come from `vocabulary` if it is given, else from the model's.
Status apply_tokenizer_config(const TokenizerConfig& config, TokenizerParts& parts,
                              const Vocabulary* vocabulary = nullptr);

// One added token of tokenizer.json or tokenizer_config.json; special_default fills in a missing
// "special", and normalized is its opposite when missing.
Result<AddedToken> read_added_token(const JsonAt& spec, bool special_default);

}  // namespace hone

// Reads the configuration files of a tokenizer: tokenizer_config.json, special_tokens_map.json and added_tokens.json.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "learn/tokenizers/load/load.h"

namespace hone {

struct TokenizerConfig {
  // The name of the class, with "Fast" removed at its end. If the files lack it, it follows from model_type in
  // config.json.
  std::string tokenizer_class;
  std::optional<bool> add_bos, add_eos, add_prefix_space;
  // LlamaTokenizer, key "legacy". true: each part of a text between added tokens gets a prefix space; false: only the
  // part at the start of the text.
  std::optional<bool> legacy_prefix;
  // BertTokenizer: do_lower_case, tokenize_chinese_chars, ...
  std::optional<bool> lowercase, chinese, strip_accents;
  std::optional<bool> keep_accents;    // AlbertTokenizer
  std::optional<bool> split_by_punct;  // DebertaV2Tokenizer
  // T5Tokenizer and ByT5Tokenizer: the number of sentinel tokens. Unset: the default of the class.
  std::optional<int64_t> extra_ids;
  // PegasusTokenizer: the number of ids before the pieces.
  std::optional<int64_t> offset;
  std::string source_lang, target_lang;  // mBART: src_lang and tgt_lang
  bool targets = false;                  // TokenizerSide::targets
  // MarianTokenizer. true: target_vocab.json has the ids of target texts; false: vocab.json has the ids of both sides.
  bool separate_vocabs = false;
  // PegasusTokenizer: the token that masks a sentence. "": there is no such token; unset: the default, "<mask_1>".
  std::optional<std::string> mask_token_sent;
  // true: "mask_token" is only a text in the files, and its other properties are the defaults of the class.
  bool mask_is_text = false;
  std::optional<int64_t> model_max_length;
  std::optional<bool> truncates_left;  // true: truncation_side is "left"
  // The special tokens of the files, each with its name there: "bos_token", "pad_token" ...
  std::vector<std::pair<std::string, AddedToken>> named;
  std::vector<AddedToken> listed;  // the tokens of added_tokens_decoder, by id
  bool lists_tokens = false;       // true: the files have added_tokens_decoder
  std::vector<AddedToken> extra;   // additional_special_tokens
  std::vector<AddedToken> legacy;  // the tokens of added_tokens.json, by id
  std::string chat_template, tool_chat_template;
  std::vector<std::string> files;  // the paths of the configuration files that were found

  const AddedToken* find(std::string_view name) const;  // in `named`; null if there is none
  // Groups of tokenizer classes with the same rules.
  bool is_roberta() const;  // classes such as those of RoBERTa and BART
  bool is_bert() const;     // classes such as those of BERT, DistilBERT and ELECTRA
  bool is_t5() const {
    return tokenizer_class == "T5Tokenizer" || tokenizer_class == "MT5Tokenizer";
  }
  bool is_byt5() const { return tokenizer_class == "ByT5Tokenizer"; }
  bool is_mbart() const {
    return tokenizer_class == "MBartTokenizer" || tokenizer_class == "MBart50Tokenizer";
  }
  bool is_deberta() const { return tokenizer_class == "DebertaTokenizer"; }  // version 1
  bool is_mpnet() const { return tokenizer_class == "MPNetTokenizer"; }
  // Classes of encoders that put their own stages around a SentencePiece model, even if the model comes from a
  // tokenizer.json.
  bool is_spm_encoder() const {
    return tokenizer_class == "AlbertTokenizer" || tokenizer_class == "CamembertTokenizer" ||
           tokenizer_class == "DebertaV2Tokenizer";
  }
  // Classes that Transformers builds from the pieces of a SentencePiece model, most of them with ids that differ from
  // the positions of the pieces in the file.
  bool renumbers() const {
    return is_mbart() || is_spm_encoder() || tokenizer_class == "XLMRobertaTokenizer" ||
           tokenizer_class == "PegasusTokenizer";
  }
  bool is_llama() const { return tokenizer_class == "LlamaTokenizer"; }
};

// Reads the configuration files that the folder has. A missing file is not an error. As in Transformers 5,
// special_tokens_map.json and added_tokens.json are ignored if tokenizer_config.json has added_tokens_decoder.
// Errors: H2002 a malformed file.
Result<TokenizerConfig> read_tokenizer_config(const std::string& folder);

// Applies the configuration to `parts` as Transformers 5 does: adds the configured tokens to parts.added, and sets the
// named tokens, the maximum length and the chat template. A named token that the files lack gets the default of the
// tokenizer class, if the vocabulary has it. Ids come from `vocabulary`, or if it is null from the model's vocabulary.
Status apply_tokenizer_config(const TokenizerConfig& config, TokenizerParts& parts,
                              const Vocabulary* vocabulary = nullptr);

// Reads an added token of tokenizer.json or tokenizer_config.json. If it has no "special", special_default is used;
// if it has no "normalized", the opposite of special. Errors: H2002 a malformed token.
Result<AddedToken> read_added_token(const JsonAt& spec, bool special_default);

}  // namespace hone

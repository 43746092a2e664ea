// Shared parts of the loaders: each turns its files into TokenizerParts.
#pragma once

#include <string>

#include "learn/tokenizers/load/config.h"
#include "learn/tokenizers/load/load.h"
#include "learn/tokenizers/stages/bpe.h"

namespace hone {

// Reads the text of a tokenizer.json. As in Transformers 5, some tokenizer classes override stages
// of the file: the prefix space of ByteLevel, all of LlamaTokenizer's and BertTokenizer's.
Result<TokenizerParts> read_tokenizer_json(std::string_view text, const std::string& where,
                                           const TokenizerConfig& config = {});

// Makes parts.normalizer, pre_tokenizer, post_processor and decoder.
Status make_stages(StagesJson json, TokenizerParts& parts);

// Replaces parts.post_processor by the one that `json` describes.
Status replace_post_processor(const std::string& json, TokenizerParts& parts);

// vocab.json + merges.txt; the configuration decides what surrounds the model.
Result<TokenizerParts> read_vocab_merges(const std::string& vocab_path,
                                         const std::string& merges_path,
                                         const TokenizerConfig& config);

// vocab.txt of WordPiece: a token a line, its id the number of the line, counted from 0.
Result<TokenizerParts> read_vocab_txt(std::string_view text, const std::string& where,
                                      const TokenizerConfig& config);

// The stages of Transformers 5's BertTokenizer; the post-processor needs the added tokens.
StagesJson bert_stages(const TokenizerConfig& config);
Status set_bert_post_processor(TokenizerParts& parts);
// "cls A sep" and "cls A sep sep B sep", all of segment 0: of MPNetTokenizer, whose other stages are
// BERT's, and DebertaTokenizer.
Status set_two_sep_post_processor(TokenizerParts& parts);

// A tiktoken rank file: lines "base64 rank".
bool is_tiktoken(std::string_view text);
Result<TokenizerParts> read_tiktoken(std::string_view text, const std::string& where,
                                     const TokenizerConfig& config);

// A SentencePiece model (protobuf) of the type Unigram or BPE, with SentencePiece's ids, or
// Transformers' if the configuration names LlamaTokenizer or T5Tokenizer. Errors: kTokenizerFormat
// with the damaged byte; kTokenizerKind for WORD and CHAR, and for an unsupported normalization.
bool is_sentencepiece(std::string_view bytes);
Result<TokenizerParts> read_sentencepiece(std::string_view bytes, const std::string& where,
                                          const TokenizerConfig& config);

// The same by Transformers 5's classes for which config.renumbers(): XLMRobertaTokenizer,
// MBartTokenizer, MBart50Tokenizer, PegasusTokenizer, CamembertTokenizer, AlbertTokenizer,
// DebertaV2Tokenizer.
Result<TokenizerParts> read_renumbered(std::string_view bytes, const TokenizerConfig& config);
// The stages of classes for which config.is_spm_encoder(); precompiled as t5_stages takes it. Errors:
// kTokenizerKind for split_by_punct.
Result<StagesJson> spm_encoder_stages(const TokenizerConfig& config,
                                      const std::string& precompiled);
Status set_spm_encoder_post_processor(const TokenizerConfig& config, TokenizerParts& parts);
// mBART's post-processor: the code of the language that the configuration names for its side.
Status set_mbart_post_processor(const TokenizerConfig& config, TokenizerParts& parts);

// ByT5Tokenizer: no file has a vocabulary. A text that ends with the end token gets a second one, as from other
// tokenizers; Transformers leaves it out.
Result<TokenizerParts> read_bytes_tokenizer(const TokenizerConfig& config);
Status set_bytes_post_processor(TokenizerParts& parts);

// A folder of MarianTokenizer: source.spm and target.spm cut texts, vocab.json (and with
// separate_vocabs target_vocab.json) has the ids. config.targets: of the texts to be written.
Result<TokenizerParts> read_marian(const std::string& folder, const TokenizerConfig& config);

// The stages around a SentencePiece vocabulary: in SentencePiece's form (prefix: a space before the
// text; squeeze: runs of spaces become one, none at the ends), and in the form of Transformers 5's
// LlamaTokenizer.
// charsmap: in base64, or empty.
StagesJson sentencepiece_stages(bool prefix, bool squeeze, const std::string& charsmap = "");
StagesJson llama_stages(const TokenizerConfig& config);

// Transformers 5's T5Tokenizer; precompiled is the JSON of a "Precompiled" normalizer or "null".
StagesJson t5_stages(std::string precompiled, bool prefix = true);
std::string precompiled_json(const std::string& charsmap);
Status set_t5_post_processor(TokenizerParts& parts);

// JSON of stages.
std::string metaspace_json(bool prefix);
std::string byte_level_json(bool add_prefix_space, bool use_regex);
std::string split_then_bytes_json(std::string_view pattern, bool add_prefix_space);
StagesJson byte_level_stages(std::string normalizer, std::string pre_tokenizer,
                             std::string post_processor);

}  // namespace hone

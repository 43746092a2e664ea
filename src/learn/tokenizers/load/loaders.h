// The loaders of all kinds of tokenizer files, and their shared parts. Each loader turns its files into TokenizerParts.
// `where` is the name of the file for messages. Errors: H2002 a malformed file; H2003 an unknown stage or option;
// H2005 the vocabulary lacks a token that is needed; others are named below.
#pragma once

#include <string>

#include "learn/tokenizers/load/config.h"
#include "learn/tokenizers/load/load.h"
#include "learn/tokenizers/stages/bpe.h"

namespace hone {

// Reads the text of a tokenizer.json. As in Transformers 5, some tokenizer classes override stages of the file.
// GPT2Tokenizer, Qwen2Tokenizer and classes such as RoBERTa's: the prefix space of ByteLevel. LlamaTokenizer,
// T5Tokenizer and the classes of BERT, MPNet and config.is_spm_encoder(): all stages except the model and the
// post-processor.
Result<TokenizerParts> read_tokenizer_json(std::string_view text, const std::string& where,
                                           const TokenizerConfig& config = {});

// Creates parts.normalizer, parts.pre_tokenizer, parts.post_processor and parts.decoder from JSON.
Status make_stages(StagesJson json, TokenizerParts& parts);

// Replaces parts.post_processor by the one that `json` describes.
Status replace_post_processor(const std::string& json, TokenizerParts& parts);

// Reads vocab.json and merges.txt. The configuration decides the other stages.
Result<TokenizerParts> read_vocab_merges(const std::string& vocab_path,
                                         const std::string& merges_path,
                                         const TokenizerConfig& config);

// Reads vocab.txt of WordPiece: one token a line; its id is the number of the line, from 0.
Result<TokenizerParts> read_vocab_txt(std::string_view text, const std::string& where,
                                      const TokenizerConfig& config);

// The stages of BertTokenizer in Transformers 5, without the post-processor. Set the post-processor after the added
// tokens, which it needs.
StagesJson bert_stages(const TokenizerConfig& config);
Status set_bert_post_processor(TokenizerParts& parts);
// Sets the post-processor of MPNetTokenizer and DebertaTokenizer: "cls A sep" for a text and "cls A sep sep B sep"
// for a pair, with segment id 0 for all tokens. MPNetTokenizer's other stages are those of BERT.
Status set_two_sep_post_processor(TokenizerParts& parts);

// A tiktoken rank file. Each line is a token in base64, a space, and its rank.
bool is_tiktoken(std::string_view text);
Result<TokenizerParts> read_tiktoken(std::string_view text, const std::string& where,
                                     const TokenizerConfig& config);

// A SentencePiece model (protobuf) of the type Unigram or BPE. Ids are those of SentencePiece; if the configuration
// names LlamaTokenizer or T5Tokenizer, those of Transformers. Errors: H2002 the file is damaged, the message names
// the byte; H2004 the type WORD or CHAR, or a normalization that is not supported.
bool is_sentencepiece(std::string_view bytes);
Result<TokenizerParts> read_sentencepiece(std::string_view bytes, const std::string& where,
                                          const TokenizerConfig& config);

// Reads a SentencePiece model as in Transformers 5, for the classes for which config.renumbers() is true:
// XLMRobertaTokenizer, MBartTokenizer, MBart50Tokenizer, PegasusTokenizer, CamembertTokenizer, AlbertTokenizer,
// DebertaV2Tokenizer. Errors: H2004 the model is not a Unigram model.
Result<TokenizerParts> read_renumbered(std::string_view bytes, const TokenizerConfig& config);
// The stages of the classes for which config.is_spm_encoder() is true. `precompiled` is as for t5_stages. Errors: H2004
// split_by_punct is not supported.
Result<StagesJson> spm_encoder_stages(const TokenizerConfig& config,
                                      const std::string& precompiled);
Status set_spm_encoder_post_processor(const TokenizerConfig& config, TokenizerParts& parts);
// Sets the post-processor of mBART: it adds the code of the source or target language that the configuration names.
// Errors: H2005 the tokenizer has no such language.
Status set_mbart_post_processor(const TokenizerConfig& config, TokenizerParts& parts);

// Creates ByT5Tokenizer. Its vocabulary is the 256 bytes, so there is no vocabulary file. If a text already ends with
// the end token, a second one is appended, as other tokenizers do. ByT5Tokenizer of Transformers does not append it.
Result<TokenizerParts> read_bytes_tokenizer(const TokenizerConfig& config);
Status set_bytes_post_processor(TokenizerParts& parts);

// Reads a folder of MarianTokenizer. source.spm and target.spm cut source and target texts into pieces. vocab.json has
// the ids of the pieces; with config.separate_vocabs, target_vocab.json has the ids of targets. config.targets chooses
// the target side. Errors: H2004 the SentencePiece model is not a Unigram model.
Result<TokenizerParts> read_marian(const std::string& folder, const TokenizerConfig& config);

// The stages around a SentencePiece vocabulary. sentencepiece_stages: as SentencePiece itself. `prefix` puts a space
// before the text; `squeeze` replaces runs of spaces by one, and removes spaces at the ends; `charsmap` is the
// precompiled normalization in base64, or "". llama_stages: as LlamaTokenizer of Transformers 5.
StagesJson sentencepiece_stages(bool prefix, bool squeeze, const std::string& charsmap = "");
StagesJson llama_stages(const TokenizerConfig& config);

// The stages of T5Tokenizer of Transformers 5. `precompiled` is the JSON of a "Precompiled" normalizer, or "null".
// precompiled_json makes it from a charsmap in base64.
StagesJson t5_stages(std::string precompiled, bool prefix = true);
std::string precompiled_json(const std::string& charsmap);
Status set_t5_post_processor(TokenizerParts& parts);

// The JSON of single stages, and of the four stages of a byte-level tokenizer.
std::string metaspace_json(bool prefix);
std::string byte_level_json(bool add_prefix_space, bool use_regex);
std::string split_then_bytes_json(std::string_view pattern, bool add_prefix_space);
StagesJson byte_level_stages(std::string normalizer, std::string pre_tokenizer,
                             std::string post_processor);

}  // namespace hone

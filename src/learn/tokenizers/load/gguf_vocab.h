// Parts of load_gguf_tokenizer and gguf_vocab: the vocabularies of encoders.
#pragma once

#include "learn/tokenizers/load/load.h"

namespace hone {

// "bert": WordPiece. A token that begins a word has U+2581 before it, one that continues a word has
// no "##". Reference: llama.cpp, conversion/bert.py.
Result<TokenizerParts> read_gguf_wordpiece(const GgufVocab& vocab);
// The texts of a WordPiece vocabulary in that form, and the settings of its normalizer. kTokenizerKind
// for a normalizer that llama.cpp does not have.
Status write_gguf_wordpiece(const Tokenizer& tokenizer, GgufVocab& vocab);

// "t5": Unigram, in the stages of T5Tokenizer.
Result<TokenizerParts> read_gguf_unigram(const GgufVocab& vocab);
// Scores and normalization of a Unigram vocabulary.
Status write_gguf_unigram(const Tokenizer& tokenizer, GgufVocab& vocab);

// The vocabulary has an encoder's special tokens.
bool is_of_encoder(const GgufVocab& vocab);
// Sets the tokens by name: parts.cls and the others.
void name_gguf_tokens(const GgufVocab& vocab, TokenizerParts& parts);
// Adds the tokens that are cut out of a text.
void add_gguf_tokens(const GgufVocab& vocab, TokenizerParts& parts);
// The post-processor of an encoder: "bos A eos", and a pair with one or two eos between its texts.
Status set_encoder_post_processor(const GgufVocab& vocab, bool bos, TokenizerParts& parts);

// kTokenizerKind: such a tokenizer is not written.
Error not_in_gguf(std::string what);

}  // namespace hone

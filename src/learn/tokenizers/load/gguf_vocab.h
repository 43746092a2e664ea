// Reads and writes the vocabularies of encoders in GGUF files, for load_gguf_tokenizer and gguf_vocab (load.h).
#pragma once

#include "learn/tokenizers/load/load.h"

namespace hone {

// Reads a WordPiece vocabulary (GgufVocab::model is "bert"). In GGUF a token that begins a word has U+2581 in front,
// and a token that continues a word is written without "##". Reference: llama.cpp, conversion/bert.py.
Result<TokenizerParts> read_gguf_wordpiece(const GgufVocab& vocab);
// Changes the WordPiece tokens in `vocab` to this form of GGUF, and sets the settings of the normalizer. Errors: H2004
// llama.cpp does not have the tokenizer's normalizer.
Status write_gguf_wordpiece(const Tokenizer& tokenizer, GgufVocab& vocab);

// Reads a Unigram vocabulary (GgufVocab::model is "t5"), with the stages of T5Tokenizer. Errors: H2002 the number of
// scores differs from the number of tokens; H2005 the vocabulary has no unknown token.
Result<TokenizerParts> read_gguf_unigram(const GgufVocab& vocab);
// Sets the scores and the normalization in `vocab` to those of a Unigram tokenizer. Errors: H2004 GGUF cannot express
// the tokenizer.
Status write_gguf_unigram(const Tokenizer& tokenizer, GgufVocab& vocab);

// True if the vocabulary has the special tokens of an encoder: cls and sep.
bool is_of_encoder(const GgufVocab& vocab);
// Sets the named tokens of `parts`, such as parts.cls.
void name_gguf_tokens(const GgufVocab& vocab, TokenizerParts& parts);
// Adds the control tokens and the user defined tokens of `vocab` to parts.added: they are cut out of a text first.
void add_gguf_tokens(const GgufVocab& vocab, TokenizerParts& parts);
// Sets the post-processor of an encoder: "bos A eos" for a text, and one or two eos between the texts of a pair. `bos`:
// true if a text begins with the token bos.
Status set_encoder_post_processor(const GgufVocab& vocab, bool bos, TokenizerParts& parts);

// Error H2004: this tokenizer cannot be written as a GGUF vocabulary. `what` is the reason.
Error not_in_gguf(std::string what);

}  // namespace hone

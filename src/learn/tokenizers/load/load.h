// Loads a tokenizer from the files of a Hugging Face model or from a GGUF file, and saves it.
//
//   Tokenizer tok = HONE_TRY(load_tokenizer("ckpt"));
//   HONE_TRY(save_tokenizer(tok, "finetuned"));
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/tokenizers/tokenizer.h"

namespace hone {

// Values of GgufVocab::model for the two kinds of SentencePiece BPE in GGUF files. A kScoredBpe vocabulary has a score
// for each token, a kRankedBpe vocabulary has the list of merges.
inline constexpr const char *kScoredBpe = "llama", *kRankedBpe = "gemma4";

// The vocabulary in a GGUF file: the values of its keys tokenizer.ggml.*.
struct GgufVocab {
  // "gpt2" = byte-level BPE, "llama" = SentencePiece BPE with scores, "gemma4" = SentencePiece BPE with merges,
  // "bert" = WordPiece, "t5" = SentencePiece Unigram
  std::string model;
  std::string pre;  // the name of the pre-tokenizer: "gpt-2", "smollm", "llama-bpe", "qwen2", ...
  std::vector<std::string> tokens;
  std::vector<int32_t> types;  // 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte
  std::vector<std::string> merges;                 // "a b": the tokens a and b are merged
  std::vector<float> scores;                       // of each token; only "llama" and "t5" have them
  int64_t bos = -1, eos = -1, unk = -1, pad = -1;  // ids; -1: the file has none
  int64_t sep = -1, cls = -1, mask = -1;           // ids for encoders; -1: the file has none
  std::optional<bool> add_bos, add_eos, add_space_prefix;
  // true: there are two end tokens between the texts of a pair; false or unset: one.
  std::optional<bool> add_sep;
  std::optional<bool> lowercase, strip_accents;  // for "bert"
  std::optional<bool> mask_lstrip;  // true: the mask token includes the space before it
  // For "t5": SentencePiece's precompiled normalization, or "".
  std::string charsmap;
  std::string chat_template;
};
// The tokenizer of a vocabulary. Errors: H2002 the lists do not match or are malformed; H2003 an unknown pre-tokenizer;
// H2004 an unknown model; H2005 there is no unknown token although the model needs it.
Result<Tokenizer> load_gguf_tokenizer(const GgufVocab& vocab);
// The GGUF vocabulary of a tokenizer. `rows` is the number of rows of the embedding: each id below `rows` without a
// token gets a filler token. `encoder`: true: also set the tokens around pairs. `model` is the form of a SentencePiece
// BPE: kScoredBpe or kRankedBpe. Errors: H2004 no GGUF vocabulary gives the same ids as the tokenizer.
Result<GgufVocab> gguf_vocab(const Tokenizer& tokenizer, int64_t rows, bool encoder = false,
                             const char* model = kScoredBpe);

// The side of a translation model whose texts are tokenized. Languages are named as in the model ("en_XX"); "": the
// language that tokenizer_config.json names.
struct TokenizerSide {
  bool targets = false;  // true: target texts, which the decoder writes; false: source texts
  std::string source_lang = {}, target_lang = {};
};

// Loads a tokenizer. `path` is a folder with one of these:
//
// - tokenizer.json
// - vocab.json and merges.txt, or encoder.json and vocab.bpe
// - vocab.txt
// - a SentencePiece model: spiece.model, sentencepiece.bpe.model or tokenizer.model
// - a tiktoken rank file: tokenizer.model or *.tiktoken
// - Marian's source.spm, target.spm and vocab.json
//
// tokenizer_config.json, special_tokens_map.json and added_tokens.json in the folder are used too. `path` may also be
// the path of a tokenizer.json, vocab.txt, SentencePiece model or rank file.
//
// Errors: H2001 there are no such files (the message lists the files that hone reads); H2002 a malformed file; H2003 an
// unknown stage or option; H2004 a kind of tokenizer that hone does not read; H2005 the vocabulary lacks a token that
// is needed; H2006 a splitting pattern does not compile.
Result<Tokenizer> load_tokenizer(const std::string& path, const TokenizerSide& side = {});

// Loads vocab.json and merges.txt from the given paths. Errors: as load_tokenizer.
Result<Tokenizer> load_vocab_merges(const std::string& vocab_path, const std::string& merges_path);

// A copy of the tokenizer for texts that are given word by word. If it is byte-level and puts no space before a text,
// the copy puts a space before each word, as Transformers does with add_prefix_space=True. The setting is saved with
// the copy.
Result<Tokenizer> for_words(const Tokenizer& tokenizer);

// Writes the files that Transformers needs to load the same tokenizer. Copies the files from which it was loaded. If
// tokenizer.json, tokenizer_config.json or special_tokens_map.json was not one of them, creates that file; but does not
// create tokenizer.json if TokenizerParts::fits_tokenizer_json is false. Errors: H2007 a file cannot be written.
Status save_tokenizer(const Tokenizer& tokenizer, const std::string& folder);

// The text of a tokenizer.json for the tokenizer.
std::string tokenizer_json(const Tokenizer& tokenizer);

}  // namespace hone

// Tokenizers from the files that Hugging Face models carry, and back into files.
//
//   Tokenizer tok = HONE_TRY(load_tokenizer("ckpt"));
//   HONE_TRY(save_tokenizer(tok, "finetuned"));
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/tokenizers/tokenizer.h"

namespace hone {

// Kinds of SentencePiece BPE in GGUF files: with a score for each token, and with the list of merges.
inline constexpr const char *kScoredBpe = "llama", *kRankedBpe = "gemma4";

// The vocabulary that a GGUF file carries (keys tokenizer.ggml.*).
struct GgufVocab {
  // "gpt2" = byte-level BPE, "llama" = SentencePiece BPE, "gemma4" = the same with its merges, "bert" = WordPiece,
  // "t5" = SentencePiece Unigram
  std::string model;
  std::string pre;  // "gpt-2", "smollm", "llama-bpe", "qwen2", ...
  std::vector<std::string> tokens;
  std::vector<int32_t> types;  // 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte
  std::vector<std::string> merges;                 // "a b"
  std::vector<float> scores;                       // of the tokens, for "llama" and "t5"
  int64_t bos = -1, eos = -1, unk = -1, pad = -1;  // ids, -1 = not given
  int64_t sep = -1, cls = -1, mask = -1;           // of encoders
  std::optional<bool> add_bos, add_eos, add_space_prefix;
  std::optional<bool> add_sep;                   // two end tokens between the texts of a pair
  std::optional<bool> lowercase, strip_accents;  // for "bert"
  std::optional<bool> mask_lstrip;               // the mask takes the space before it along
  std::string charsmap;                          // for "t5": a precompiled normalization, or ""
  std::string chat_template;
};
Result<Tokenizer> load_gguf_tokenizer(const GgufVocab& vocab);
// The inverse, with one token for each row of an embedding; of an encoder with the tokens around
// pairs too. `model`: the kind of a SentencePiece BPE. kTokenizerKind if no such vocabulary gives the tokenizer's ids.
Result<GgufVocab> gguf_vocab(const Tokenizer& tokenizer, int64_t rows, bool encoder = false,
                             const char* model = kScoredBpe);

// The texts of a translation model's tokenizer: source or target. Names of languages are the
// model's ("en_XX"); empty: those of tokenizer_config.json.
struct TokenizerSide {
  bool targets = false;  // the texts that the decoder is to write
  std::string source_lang = {}, target_lang = {};
};

// A folder with tokenizer.json; vocab.json and merges.txt (or encoder.json and vocab.bpe);
// vocab.txt; a SentencePiece model (spiece.model, sentencepiece.bpe.model) or tiktoken rank file
// (tokenizer.model, *.tiktoken); or Marian's source.spm, target.spm and vocab.json;
// tokenizer_config.json, special_tokens_map.json and added_tokens.json beside them are respected.
// Or the path of a tokenizer.json, vocab.txt, model or rank file.
// Errors: kTokenizerMissing with the list of readable files; kTokenizerKind for other kinds;
// kTokenizerFormat and kTokenizerStage with file and key.
Result<Tokenizer> load_tokenizer(const std::string& path, const TokenizerSide& side = {});

// vocab.json + merges.txt by their own names.
Result<Tokenizer> load_vocab_merges(const std::string& vocab_path, const std::string& merges_path);

// The tokenizer for texts that come word by word: a byte-level one that puts no space before a text
// puts one before each word here, as Transformers does with add_prefix_space=True. Its saved form
// has the setting too.
Result<Tokenizer> for_words(const Tokenizer& tokenizer);

// Writes what Transformers needs to load the same tokenizer: copies of the files it was read from,
// and tokenizer.json, tokenizer_config.json and special_tokens_map.json where they were missing.
Status save_tokenizer(const Tokenizer& tokenizer, const std::string& folder);

// The whole tokenizer.json of a tokenizer.
std::string tokenizer_json(const Tokenizer& tokenizer);

}  // namespace hone

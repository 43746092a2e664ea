// Text to token ids and back, like Hugging Face tokenizers.
//
//   Tokenizer tok = HONE_TRY(load_tokenizer("ckpt"));         // load/load.h
//   std::vector<int32_t> ids = tok.encode("Hello world");     // with <s>, </s> if the model has them
//   std::string text = tok.decode(ids);
//
// Ids equal those of tokenizers 0.23 for every text that is UTF-8. Other bytes reach the bytes of
// the vocabulary unchanged and come back from decode_bytes(). A Tokenizer is immutable; any number
// of threads may encode with one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"
#include "base/core/threads.h"
#include "learn/tokenizers/added_tokens.h"
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/truncation.h"

namespace hone {

class ScratchPool;  // scratch_pool.h

struct EncodeOptions {
  // The model's own tokens around the text (<s> ... </s>), as Transformers' add_special_tokens.
  bool add_special_tokens = true;
  // Special tokens spelled in the text are ordinary characters, as Transformers'
  // split_special_tokens. Added tokens that are not special stay whole.
  bool split_special_tokens = false;
};

// The stages as tokenizer.json writes them.
struct StagesJson {
  std::string normalizer = "null", pre_tokenizer = "null", post_processor = "null",
              decoder = "null";
  // As members of an object: "\"normalizer\":null,...".
  std::string members() const;
};

// Everything load_* functions gather; Tokenizer::make checks and joins it.
struct TokenizerParts {
  std::unique_ptr<Normalizer> normalizer;  // may be null, as the next two
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<PostProcessor> post_processor;
  std::unique_ptr<Model> model;
  std::unique_ptr<Decoder> decoder;  // null: tokens are joined with spaces
  AddedTokens added;
  StagesJson stages_json;  // of the four stages above, for save_tokenizer

  std::string bos, eos, pad, unk, sep, cls, mask;  // "" = none
  std::optional<int64_t> model_max_length;         // tokens
  bool truncates_left = false;                     // "truncation_side"
  std::string chat_template;
  std::string tool_chat_template;  // for chats with tools, where that is another
  // tokenizer.json can say all of it; else the folder is saved with the files it was read from.
  bool fits_tokenizer_json = true;
  std::string kind;                       // "tokenizer.json", "GGUF", ...: for reports
  std::vector<std::string> source_files;  // that save_tokenizer copies
};

class Tokenizer {
 public:
  static Result<Tokenizer> make(TokenizerParts parts);

  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& = {}) const;
  // Appends the ids to `ids`. A warm thread allocates nothing as long as they fit its capacity
  // (normal forms of Unicode aside).
  void encode_to(std::string_view text, std::vector<int32_t>& ids, const EncodeOptions& = {}) const;
  // Ids and segment ids (token_type_ids) of a pair.
  Encoding encode_pair(std::string_view first, std::string_view second,
                       const EncodeOptions& = {}) const;
  // Ids and segment ids of a text or a pair, cut so that all tokens fit, special tokens included.
  // Replaces `out`; allocates as encode_to. Errors: kSequenceTooShort.
  Status encode_to(std::string_view first, std::optional<std::string_view> second, Encoding& out,
                   const EncodeOptions&, const TruncateOptions&) const;
  Result<Encoding> encode_pair(std::string_view first, std::string_view second,
                               const EncodeOptions&, const TruncateOptions&) const;
  // Transformers' reading of `truncation` and `max_length`: without a length the model's (if
  // unknown, nothing is cut); tokens are removed at the side in the tokenizer's files.
  TruncateOptions truncate_options(Truncation strategy,
                                   std::optional<int64_t> max_length = {}) const;
  // One row of ids for each text, in order. Long texts are spread over the pool's threads.
  std::vector<std::vector<int32_t>> encode_batch(std::span<const std::string_view> texts,
                                                 ThreadPool* pool, const EncodeOptions& = {}) const;

  // Puts the model's special tokens around ids made without them (and around a pair).
  Encoding with_special_tokens(std::span<const int32_t> first) const;
  Encoding with_special_tokens(std::span<const int32_t> first,
                               std::span<const int32_t> second) const;
  // The number of tokens that with_special_tokens() adds.
  int64_t special_token_count(bool pair) const;
  int64_t special_tokens_after() const;  // of these, after the text that is alone

  // The text of ids; bytes that form no UTF-8 become U+FFFD, ids without token are skipped.
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = false) const;
  std::string decode_bytes(std::span<const int32_t> ids, bool skip_special_tokens = false) const;
  // Decodes id by id.
  struct DecodeState {
    bool first = true;
    int64_t lead_taken = 0;  // see Decoder::lead; -1 = it is over
  };
  void decode_next(int32_t id, bool skip_special_tokens, DecodeState& state,
                   std::string& out) const;

  // Distinct tokens: Transformers' len(tokenizer).
  int64_t vocab_size() const;
  // Largest id + 1: the least number of rows of an embedding.
  int64_t id_limit() const { return static_cast<int64_t>(flags_.size()); }

  // Tokens are spelled as in the vocabulary: "Ġworld".
  std::optional<int32_t> id_of(std::string_view token) const;
  std::optional<std::string> token_of(int32_t id) const;
  bool is_special(int32_t id) const;

  std::optional<int32_t> bos_id() const { return bos_; }
  std::optional<int32_t> eos_id() const { return eos_; }
  std::optional<int32_t> pad_id() const { return pad_; }
  std::optional<int32_t> unk_id() const { return unk_; }
  std::optional<int32_t> mask_id() const { return mask_; }
  std::optional<int64_t> model_max_length() const { return parts_->model_max_length; }
  const std::string& chat_template() const { return parts_->chat_template; }
  const std::string& kind() const { return parts_->kind; }

  const TokenizerParts& parts() const { return *parts_; }

 private:
  // The post-processor: the order of special tokens and texts, each with its segment.
  struct Slot {
    int32_t id = kFirst, type_id = 0;
  };
  static constexpr int32_t kFirst = -1, kSecond = -2;  // in the place of an id: the texts

  Tokenizer() = default;
  void append(std::string_view text, const EncodeOptions&, std::vector<int32_t>& ids,
              ModelScratch& scratch) const;
  std::optional<std::string_view> spelling(int32_t id) const;
  std::vector<Slot> slots(size_t texts) const;
  static void fill(std::span<const Slot> slots, bool special, std::span<const int32_t> first,
                   std::span<const int32_t> second, Encoding& out);

  // Shared: copies of a Tokenizer are cheap, and the parts never change.
  std::shared_ptr<const TokenizerParts> parts_;
  std::shared_ptr<ScratchPool> scratches_;
  // Bytes of each id's token: all[ends[id - 1], ends[id]).
  struct TokenBytes {
    std::string all;
    std::vector<uint32_t> ends;
    std::string_view of(int32_t id) const;
  };
  TokenBytes bytes_, first_bytes_;  // the latter at the beginning of a text; empty: as the former
  Decoder::Lead lead_;
  std::vector<uint8_t> flags_;  // by id: kHasToken, kIsSpecial, kIsByte
  std::vector<Slot> single_, pair_;
  std::optional<int32_t> bos_, eos_, pad_, unk_, mask_;
};

// Turns ids into text as they come: a character is handed out when its last byte is there.
class StreamingDecoder {
 public:
  // The tokenizer must outlive the decoder.
  explicit StreamingDecoder(const Tokenizer& tokenizer, bool skip_special_tokens = true)
      : tokenizer_(tokenizer), skip_special_tokens_(skip_special_tokens) {}
  std::string push(int32_t id);  // text that is now certain, may be empty
  std::string finish();          // the text held back; an unfinished character is U+FFFD

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_tokens_;
  Tokenizer::DecodeState state_;
  std::string held_;
};

}  // namespace hone

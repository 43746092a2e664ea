// Turns text into token ids and back, with the same results as Hugging Face tokenizers.
//
//   Tokenizer tok = HONE_TRY(load_tokenizer("ckpt"));         // load/load.h
//   std::vector<int32_t> ids = tok.encode("Hello world");     // with <s>, </s> if the model has them
//   std::string text = tok.decode(ids);
//
// For text in UTF-8 the ids equal those of tokenizers 0.23. Bytes that are not UTF-8 are encoded as single bytes, if
// the vocabulary has them, and decode_bytes() returns them unchanged. A Tokenizer never changes, so several threads
// may use it at a time.
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
  // true: add the special tokens of the model around the text (<s> ... </s>), as add_special_tokens in Transformers.
  bool add_special_tokens = true;
  // true: special tokens that appear in the text are split like ordinary text, as split_special_tokens in Transformers.
  // Added tokens that are not special stay whole.
  bool split_special_tokens = false;
};

// The JSON of the stages in tokenizer.json; "null": there is no such stage.
struct StagesJson {
  std::string normalizer = "null", pre_tokenizer = "null", post_processor = "null",
              decoder = "null";
  // The four stages as members of a JSON object: "\"normalizer\":null,...".
  std::string members() const;
};

// The parts of a tokenizer, which the loaders (load/load.h) fill and Tokenizer::make joins.
struct TokenizerParts {
  // normalizer, pre_tokenizer and post_processor may be null.
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<PostProcessor> post_processor;
  std::unique_ptr<Model> model;
  std::unique_ptr<Decoder> decoder;  // null: tokens are joined with spaces
  AddedTokens added;
  StagesJson stages_json;  // the JSON of the stages, for save_tokenizer

  std::string bos, eos, pad, unk, sep, cls, mask;  // "" = none
  std::optional<int64_t> model_max_length;         // tokens
  bool truncates_left = false;                     // true: truncation_side is "left"
  std::string chat_template;
  // The chat template for chats with tools; "": chat_template is used for these chats too.
  std::string tool_chat_template;
  // true: a tokenizer.json can describe the whole tokenizer. false: save_tokenizer writes no tokenizer.json.
  bool fits_tokenizer_json = true;
  // The kind of file for reports: "tokenizer.json", "GGUF", ...
  std::string kind;
  std::vector<std::string> source_files;  // the files that save_tokenizer copies
};

class Tokenizer {
 public:
  // Makes a tokenizer of its parts. Throws a Bug if the part `model` is null.
  static Result<Tokenizer> make(TokenizerParts parts);

  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& = {}) const;
  // Appends the ids of a text to `ids`. After its first texts a thread allocates no memory, if the ids fit the
  // capacity of `ids` and the text needs no Unicode normalization.
  void encode_to(std::string_view text, std::vector<int32_t>& ids, const EncodeOptions& = {}) const;
  // The ids and segment ids (token_type_ids) of a pair.
  Encoding encode_pair(std::string_view first, std::string_view second,
                       const EncodeOptions& = {}) const;
  // The ids and segment ids of a text or a pair, truncated so that all tokens fit, special tokens included. This
  // encode_to() replaces the contents of `out`. It allocates no memory under the same conditions as the first
  // encode_to(). Errors: H2008 the text cannot be cut to the length (kept_lengths in truncation.h).
  Status encode_to(std::string_view first, std::optional<std::string_view> second, Encoding& out,
                   const EncodeOptions&, const TruncateOptions&) const;
  Result<Encoding> encode_pair(std::string_view first, std::string_view second,
                               const EncodeOptions&, const TruncateOptions&) const;
  // The options for the arguments `truncation` and `max_length` of Transformers. Without max_length, the limit is the
  // maximum length of the model; if that is unknown, nothing is cut. The tokenizer's files decide from which side
  // tokens are removed.
  TruncateOptions truncate_options(Truncation strategy,
                                   std::optional<int64_t> max_length = {}) const;
  // The ids of each text, in order. Divides the texts among the threads of `pool`; null: uses this thread only.
  std::vector<std::vector<int32_t>> encode_batch(std::span<const std::string_view> texts,
                                                 ThreadPool* pool, const EncodeOptions& = {}) const;

  // Adds the special tokens of the model around the ids of a text or a pair. The ids must be without special tokens.
  Encoding with_special_tokens(std::span<const int32_t> first) const;
  Encoding with_special_tokens(std::span<const int32_t> first,
                               std::span<const int32_t> second) const;
  // The number of tokens that with_special_tokens() adds to a text or a pair.
  int64_t special_token_count(bool pair) const;
  // The number of special tokens that with_special_tokens() adds after a single text.
  int64_t special_tokens_after() const;

  // The text of ids. Ids without a token are skipped. Bytes that are not UTF-8 become U+FFFD in decode(), and stay
  // unchanged in decode_bytes().
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens = false) const;
  std::string decode_bytes(std::span<const int32_t> ids, bool skip_special_tokens = false) const;
  // Decodes one id after another: appends the bytes of `id` to `out`. Start a text with a new DecodeState.
  struct DecodeState {
    bool first = true;       // true: no token was decoded yet
    int64_t lead_taken = 0;  // how often Decoder::lead was removed; -1: it is no longer removed
  };
  void decode_next(int32_t id, bool skip_special_tokens, DecodeState& state,
                   std::string& out) const;

  // The number of distinct tokens, added tokens included: len(tokenizer) in Transformers.
  int64_t vocab_size() const;
  // The largest id plus 1: an embedding needs at least this number of rows.
  int64_t id_limit() const { return static_cast<int64_t>(flags_.size()); }

  // Tokens are written as in the vocabulary ("Ġworld" for " world"). None: there is no such token or id.
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
  // The post-processor's result is a sequence of special tokens and texts. A Slot is one of them, with its segment.
  struct Slot {
    int32_t id = kFirst, type_id = 0;
  };
  static constexpr int32_t kFirst = -1, kSecond = -2;  // Slot::id of the first and the second text

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
  // The decoded bytes of each id's token: bytes [ends[id - 1], ends[id]) of `all`.
  struct TokenBytes {
    std::string all;
    std::vector<uint32_t> ends;
    std::string_view of(int32_t id) const;
  };
  // first_bytes_: for the first token of a text; empty: bytes_ is used for the first token too.
  TokenBytes bytes_, first_bytes_;
  Decoder::Lead lead_;
  std::vector<uint8_t> flags_;  // by id: kHasToken, kIsSpecial, kIsByte
  std::vector<Slot> single_, pair_;
  std::optional<int32_t> bos_, eos_, pad_, unk_, mask_;
};

// Decodes ids one by one into text. A character is returned when all its bytes are known.
class StreamingDecoder {
 public:
  // The tokenizer must outlive the decoder.
  explicit StreamingDecoder(const Tokenizer& tokenizer, bool skip_special_tokens = true)
      : tokenizer_(tokenizer), skip_special_tokens_(skip_special_tokens) {}
  std::string push(int32_t id);  // returns the text that is complete with this id; may be ""
  // Returns the rest of the text; an incomplete character becomes U+FFFD.
  std::string finish();

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_tokens_;
  Tokenizer::DecodeState state_;
  std::string held_;
};

}  // namespace hone

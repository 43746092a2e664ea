// The stages of a tokenizer, as tokenizer.json names them, and their shelf.
//
//   text -> Normalizer -> PreTokenizer -> Model -> PostProcessor -> ids,   ids -> Decoder -> text
//
// Each kind of stage is one file: normalizer_nfc.cc, pre_tokenizer_split.cc, model_bpe.cc ... that
// defines `StageType tokenizer_stage_<file>()`; the build gathers them by file name. A stage is
// immutable after it is made, so that threads may share it.
// Reference of the format: huggingface/tokenizers, the "type" members of its serialised form.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"
#include "base/core/threads.h"
#include "learn/tokenizers/text/vocabulary.h"

namespace hone {

struct JsonAt;  // json_dom.h

// Receives a piece of text; the piece lives only during the call.
using PieceSink = FunctionRef<void(std::string_view)>;

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // The normalised text: either `text` itself or a view into `buffer`.
  // `text` is never in `buffer`.
  virtual std::string_view normalize(std::string_view text, std::string& buffer) const = 0;
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Gives the pieces of `text` to `sink` in order; at_start: the whole text begins here. Pieces are
  // raw bytes, before the byte-level mapping to printable characters: see byte_level().
  virtual void split(std::string_view text, bool at_start, PieceSink sink) const = 0;
  // True when the pieces mean bytes of the byte-level alphabet (a ByteLevel stage is inside).
  virtual bool byte_level() const { return false; }
};

// State of one thread that encodes with a Model (caches, buffers).
class ModelScratch {
 public:
  virtual ~ModelScratch() = default;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual std::unique_ptr<ModelScratch> make_scratch() const = 0;
  // Appends the ids of one piece.
  virtual void encode(std::string_view piece, std::vector<int32_t>& ids,
                      ModelScratch& scratch) const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
  // True when encode() takes raw bytes and its vocabulary is spelled in the byte-level alphabet.
  virtual bool byte_level() const = 0;
  // The value of "model" in tokenizer.json.
  virtual std::string to_json() const = 0;
};

// Ids with the segment (0 or 1) that each belongs to.
struct Encoding {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;
  bool cut = false;  // truncation took tokens off
};

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  // parts: one sequence, or the two of a pair; may end as one. The result is their concatenation.
  virtual void process(std::vector<Encoding>& parts) const = 0;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  // The bytes that one token, in the vocabulary's spelling, adds to the text; `first`: it begins
  // the text.
  virtual void append_token(std::string_view token, bool first, std::string& out) const = 0;
  // The byte that a token such as "<0x0A>" stands for; -1 for every other token.
  virtual int byte_of(std::string_view /*token*/) const { return -1; }
  // A text to remove from the beginning of the whole text: `content`, at most `count` times.
  struct Lead {
    std::string content;
    int64_t count = 0;
  };
  virtual Lead lead() const { return {}; }
  // Appends the text of all tokens to `out` and returns true, if single tokens do not decide it;
  // append_token() is then the approximation of a stream.
  virtual bool append_all(std::span<const std::string_view> /*tokens*/,
                          std::string& /*out*/) const {
    return false;
  }
};

// Facts that a factory may use besides its own JSON.
struct StageContext {
  bool byte_level = false;               // the pre-tokenizer's byte_level(), for models
  std::optional<bool> add_prefix_space;  // overrides that of ByteLevel pre-tokenizers
};

template <class Stage>
using StageFactory = Result<std::unique_ptr<Stage>> (*)(const JsonAt& spec, const StageContext&);

// One file's entry: the names it reads and exactly one factory.
struct StageType {
  std::vector<std::string> types;
  StageFactory<Normalizer> normalizer = nullptr;
  StageFactory<PreTokenizer> pre_tokenizer = nullptr;
  StageFactory<Model> model = nullptr;
  StageFactory<PostProcessor> post_processor = nullptr;
  StageFactory<Decoder> decoder = nullptr;
};
std::vector<StageType> all_tokenizer_stage();  // generated from the file names

// The stage that `spec` describes by its "type"; kTokenizerStage for an unknown one.
Result<std::unique_ptr<Normalizer>> make_normalizer(const JsonAt& spec, const StageContext&);
Result<std::unique_ptr<PreTokenizer>> make_pre_tokenizer(const JsonAt& spec, const StageContext&);
Result<std::unique_ptr<Model>> make_model(const JsonAt& spec, const StageContext&);
Result<std::unique_ptr<PostProcessor>> make_post_processor(const JsonAt& spec, const StageContext&);
Result<std::unique_ptr<Decoder>> make_decoder(const JsonAt& spec, const StageContext&);

}  // namespace hone

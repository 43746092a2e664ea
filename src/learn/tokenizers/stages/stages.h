// The interfaces of the stages of a tokenizer, with the names of tokenizer.json, and the list of all stages.
//
//   text -> Normalizer -> PreTokenizer -> Model -> PostProcessor -> ids,   ids -> Decoder -> text
//
// Each kind of stage is one file, such as pre_tokenizer_split.cc or model_bpe.cc, that defines
// `StageType tokenizer_stage_<file>()`. The build finds them by their file names. A stage never changes after it is
// created, so threads may share it.
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

// Receives a piece of text, which is valid only during the call.
using PieceSink = FunctionRef<void(std::string_view)>;

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Returns the normalized text: `text` itself, or a view of `buffer`. `text` must not be a view of `buffer`.
  virtual std::string_view normalize(std::string_view text, std::string& buffer) const = 0;
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Splits `text` and passes the pieces to `sink` in order. `at_start`: true if `text` is the beginning of the whole
  // text, false if it is a part after an added token. Pieces are raw bytes, even if byte_level() is true.
  virtual void split(std::string_view text, bool at_start, PieceSink sink) const = 0;
  // True if there is a ByteLevel stage: the model's vocabulary writes each byte as one printable character.
  virtual bool byte_level() const { return false; }
};

// The caches and buffers of one thread that encodes with a Model.
class ModelScratch {
 public:
  virtual ~ModelScratch() = default;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual std::unique_ptr<ModelScratch> make_scratch() const = 0;
  // Appends the ids of a piece. `scratch` comes from make_scratch() of this model, and is used by one thread at a time.
  virtual void encode(std::string_view piece, std::vector<int32_t>& ids,
                      ModelScratch& scratch) const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
  // True if the vocabulary writes each byte as one printable character ("Ġthe" for " the"). encode() takes raw bytes.
  virtual bool byte_level() const = 0;
  // The value of "model" in tokenizer.json.
  virtual std::string to_json() const = 0;
};

// Token ids with their segment ids.
struct Encoding {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;  // the segment of each id: 0 or 1
  bool cut = false;               // true: truncation removed tokens
};

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  // Adds special tokens and sets segment ids. On entry `parts` has one sequence, or the two of a pair. process() may
  // change the number of sequences in `parts`. The final text is the concatenation of all sequences in `parts`.
  virtual void process(std::vector<Encoding>& parts) const = 0;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Appends the bytes that a token adds to the text. `token` is written as in the vocabulary. `first`: true if it is
  // the first token of the text.
  virtual void append_token(std::string_view token, bool first, std::string& out) const = 0;
  // The byte for a token such as "<0x0A>"; -1 for other tokens.
  virtual int byte_of(std::string_view /*token*/) const { return -1; }
  // The text to remove from the beginning of the decoded text: `content`, at most `count` times.
  struct Lead {
    std::string content;
    int64_t count = 0;
  };
  virtual Lead lead() const { return {}; }
  // For decoders whose text depends on several tokens together: appends the text of all tokens to `out` and returns
  // true. append_token() then only gives an approximation, for streams. Other decoders return false.
  virtual bool append_all(std::span<const std::string_view> /*tokens*/,
                          std::string& /*out*/) const {
    return false;
  }
};

// Information for a factory in addition to the JSON of its stage.
struct StageContext {
  bool byte_level = false;               // for models: PreTokenizer::byte_level() of the tokenizer
  std::optional<bool> add_prefix_space;  // overrides add_prefix_space of ByteLevel pre-tokenizers
};

template <class Stage>
using StageFactory = Result<std::unique_ptr<Stage>> (*)(const JsonAt& spec, const StageContext&);

// A kind of stage, which one file defines: its values of "type", and exactly one factory.
struct StageType {
  std::vector<std::string> types;
  StageFactory<Normalizer> normalizer = nullptr;
  StageFactory<PreTokenizer> pre_tokenizer = nullptr;
  StageFactory<Model> model = nullptr;
  StageFactory<PostProcessor> post_processor = nullptr;
  StageFactory<Decoder> decoder = nullptr;
};
// The build generates the definition from the file names.
std::vector<StageType> all_tokenizer_stage();

// Create the stage that `spec` describes; its "type" chooses the factory. Errors: H2003 an unknown type; those of the
// factory.
Result<std::unique_ptr<Normalizer>> make_normalizer(const JsonAt& spec, const StageContext&);
Result<std::unique_ptr<PreTokenizer>> make_pre_tokenizer(const JsonAt& spec, const StageContext&);
Result<std::unique_ptr<Model>> make_model(const JsonAt& spec, const StageContext&);
Result<std::unique_ptr<PostProcessor>> make_post_processor(const JsonAt& spec, const StageContext&);
Result<std::unique_ptr<Decoder>> make_decoder(const JsonAt& spec, const StageContext&);

}  // namespace hone

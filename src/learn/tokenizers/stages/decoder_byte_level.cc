// "ByteLevel": characters of the byte-level alphabet become their bytes again; a token with any
// other character stands for its own text.
#include "base/unicode/unicode.h"
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class ByteLevelDecoder : public Decoder {
 public:
  void append_token(std::string_view token, bool /*first*/, std::string& out) const override {
    append_byte_level_decoded(token, out);
  }
};

Result<std::unique_ptr<Decoder>> make_decoder_byte_level(const JsonAt&, const StageContext&) {
  return std::unique_ptr<Decoder>(std::make_unique<ByteLevelDecoder>());
}

}  // namespace

StageType tokenizer_stage_decoder_byte_level() {
  return {.types = {"ByteLevel"}, .decoder = make_decoder_byte_level};
}

}  // namespace hone

// "Metaspace": U+2581 becomes a space, and goes from the first token where one was put before it.
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/metaspace.h"

namespace hone {
namespace {

class MetaspaceDecoder : public Decoder {
 public:
  explicit MetaspaceDecoder(Metaspace m) : m_(std::move(m)) {}

  void append_token(std::string_view token, bool first, std::string& out) const override {
    const std::string_view space = first && m_.scheme != Metaspace::kNever ? "" : " ";
    for (size_t at = 0; at < token.size();) {
      const size_t found = std::min(token.find(m_.replacement, at), token.size());
      out += token.substr(at, found - at);
      if (found == token.size()) break;
      out += space;
      at = found + m_.replacement.size();
    }
  }

 private:
  Metaspace m_;
};

Result<std::unique_ptr<Decoder>> make_decoder_metaspace(const JsonAt& spec, const StageContext&) {
  return std::unique_ptr<Decoder>(
      std::make_unique<MetaspaceDecoder>(HONE_TRY(read_metaspace(spec))));
}

}  // namespace

StageType tokenizer_stage_decoder_metaspace() {
  return {.types = {"Metaspace"}, .decoder = make_decoder_metaspace};
}

}  // namespace hone

// "StripAccents": the text without marks. Those that are part of a character stay, so that NFD or NFKD
// comes before it.
#include "base/unicode/unicode.h"
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class StripAccents : public Normalizer {
 public:
  std::string_view normalize(std::string_view text, std::string& buffer) const override {
    buffer.clear();
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
      const Char c = decode_char(at, end);
      if (!is_mark_char(c.code)) buffer.append(at, static_cast<size_t>(c.length));
      at += c.length;
    }
    return buffer;
  }
};

Result<std::unique_ptr<Normalizer>> make_normalizer_strip_accents(const JsonAt&,
                                                                  const StageContext&) {
  return std::unique_ptr<Normalizer>(std::make_unique<StripAccents>());
}

}  // namespace

StageType tokenizer_stage_normalizer_strip_accents() {
  return {.types = {"StripAccents"}, .normalizer = make_normalizer_strip_accents};
}

}  // namespace hone

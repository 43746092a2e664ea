// "Lowercase": every character in lower case, by the full mapping of Unicode without context.
#include "base/unicode/unicode.h"
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class Lowercase : public Normalizer {
 public:
  std::string_view normalize(std::string_view text, std::string& buffer) const override {
    buffer.clear();
    append_lowercase(text, buffer);
    return buffer;
  }
};

Result<std::unique_ptr<Normalizer>> make_normalizer_lowercase(const JsonAt&, const StageContext&) {
  return std::unique_ptr<Normalizer>(std::make_unique<Lowercase>());
}

}  // namespace

StageType tokenizer_stage_normalizer_lowercase() {
  return {.types = {"Lowercase"}, .normalizer = make_normalizer_lowercase};
}

}  // namespace hone

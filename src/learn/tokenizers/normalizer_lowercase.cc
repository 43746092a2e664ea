// "Lowercase": every character in lower case, by the full mapping of Unicode without context.
#include "learn/tokenizers/stages.h"
#include "learn/tokenizers/unicode.h"

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

Result<std::unique_ptr<Normalizer>> make(const JsonAt&, const StageContext&) {
  return std::unique_ptr<Normalizer>(std::make_unique<Lowercase>());
}

}  // namespace

StageType tokenizer_stage_normalizer_lowercase() {
  return {.types = {"Lowercase"}, .normalizer = make};
}

}  // namespace hone

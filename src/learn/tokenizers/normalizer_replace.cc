// "Replace": every match of a pattern becomes `content`.
#include "learn/tokenizers/pattern.h"
#include "learn/tokenizers/stages.h"

namespace hone {
namespace {

class Replace : public Normalizer {
 public:
  Replace(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  std::string_view normalize(std::string_view text, std::string& buffer) const override {
    buffer.clear();
    append_replaced(*pattern_, text, content_, buffer);
    return buffer;
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

Result<std::unique_ptr<Normalizer>> make(const JsonAt& spec, const StageContext&) {
  auto pattern = HONE_TRY(make_pattern(HONE_TRY(spec.get("pattern"))));
  return std::unique_ptr<Normalizer>(
      std::make_unique<Replace>(std::move(pattern), std::string(HONE_TRY(spec.string("content")))));
}

}  // namespace

StageType tokenizer_stage_normalizer_replace() {
  return {.types = {"Replace"}, .normalizer = make};
}

}  // namespace hone

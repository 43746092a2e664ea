// "Replace": every match of a pattern becomes `content`.
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/pattern.h"

namespace hone {
namespace {

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(std::unique_ptr<Pattern> pattern, std::optional<char> byte, std::string content)
      : pattern_(std::move(pattern)), byte_(byte), content_(std::move(content)) {}

  std::string_view normalize(std::string_view text, std::string& buffer) const override {
    buffer.clear();
    if (byte_)
      append_replaced_byte(text, *byte_, content_, buffer);
    else
      append_replaced(*pattern_, text, content_, buffer);
    return buffer;
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::optional<char> byte_;  // the whole pattern, where it is one byte
  std::string content_;
};

Result<std::unique_ptr<Normalizer>> make_normalizer_replace(const JsonAt& spec,
                                                            const StageContext&) {
  const JsonAt at = HONE_TRY(spec.get("pattern"));
  auto pattern = HONE_TRY(make_pattern(at));
  std::optional<char> byte;
  if (const auto literal = at.find("String"))
    if (const auto text = HONE_TRY(literal->string()); text.size() == 1) byte = text[0];
  return std::unique_ptr<Normalizer>(std::make_unique<ReplaceNormalizer>(
      std::move(pattern), byte, std::string(HONE_TRY(spec.string("content")))));
}

}  // namespace

StageType tokenizer_stage_normalizer_replace() {
  return {.types = {"Replace"}, .normalizer = make_normalizer_replace};
}

}  // namespace hone

// "Strip": white space (Unicode's White_Space) at the ends goes.
#include "base/unicode/unicode.h"
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}

  std::string_view normalize(std::string_view text, std::string&) const override {
    const uint8_t* classes = char_classes();
    const char *begin = text.data(), *end = begin + text.size();
    while (left_ && begin < end) {
      const Char c = decode_char(begin, end);
      if (!(class_of(classes, c.code) & kSpace)) break;
      begin += c.length;
    }
    while (right_ && begin < end) {
      const Char c = decode_last_char(begin, end);
      if (!(class_of(classes, c.code) & kSpace)) break;
      end -= c.length;
    }
    return {begin, static_cast<size_t>(end - begin)};
  }

 private:
  bool left_, right_;
};

Result<std::unique_ptr<Normalizer>> make_normalizer_strip(const JsonAt& spec, const StageContext&) {
  const bool left = HONE_TRY(spec.boolean_or("strip_left", true));
  const bool right = HONE_TRY(spec.boolean_or("strip_right", true));
  return std::unique_ptr<Normalizer>(std::make_unique<StripNormalizer>(left, right));
}

}  // namespace

StageType tokenizer_stage_normalizer_strip() {
  return {.types = {"Strip"}, .normalizer = make_normalizer_strip};
}

}  // namespace hone

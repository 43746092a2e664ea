// "Digits": numeric characters (\p{N}) are split off, one by one or as runs.
#include "base/unicode/unicode.h"
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class Digits : public PreTokenizer {
 public:
  explicit Digits(bool individual) : individual_(individual) {}

  void split(std::string_view text, bool /*at_start*/, PieceSink sink) const override {
    const uint8_t* classes = char_classes();
    const char* end = text.data() + text.size();
    const char* start = text.data();
    bool in_number = false;
    const auto cut = [&](const char* at) {
      if (at > start) sink({start, static_cast<size_t>(at - start)});
      start = at;
    };
    for (const char* p = start; p < end;) {
      const Char c = decode_char(p, end);
      const bool number = class_of(classes, c.code) == kNumber;
      if (number != in_number || (number && individual_)) cut(p);
      in_number = number;
      p += c.length;
    }
    cut(end);
  }

 private:
  bool individual_;
};

Result<std::unique_ptr<PreTokenizer>> make_pre_tokenizer_digits(const JsonAt& spec,
                                                                const StageContext&) {
  const bool individual = HONE_TRY(spec.boolean_or("individual_digits", false));
  return std::unique_ptr<PreTokenizer>(std::make_unique<Digits>(individual));
}

}  // namespace

StageType tokenizer_stage_pre_tokenizer_digits() {
  return {.types = {"Digits"}, .pre_tokenizer = make_pre_tokenizer_digits};
}

}  // namespace hone

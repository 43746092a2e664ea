// "NFC", "NFD", "NFKC", "NFKD": the Unicode normal forms. Bytes that are not UTF-8 stay.
#include "base/unicode/unicode.h"
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class Unicode : public Normalizer {
 public:
  explicit Unicode(NormalForm form) : form_(form) {}

  std::string_view normalize(std::string_view text, std::string& buffer) const override {
    if (form_ == NormalForm::kC ? surely_nfc(text) : is_ascii(text)) return text;
    buffer = normalize_text(text, form_);
    return buffer;
  }

 private:
  static bool is_ascii(std::string_view text) {
    for (const char c : text)
      if (static_cast<unsigned char>(c) >= 0x80) return false;
    return true;
  }
  NormalForm form_;
};

Result<std::unique_ptr<Normalizer>> make_normalizer_unicode(const JsonAt& spec,
                                                            const StageContext&) {
  const std::string_view type = HONE_TRY(spec.string("type"));
  const NormalForm form = type == "NFC"    ? NormalForm::kC
                          : type == "NFD"  ? NormalForm::kD
                          : type == "NFKC" ? NormalForm::kKC
                                           : NormalForm::kKD;
  return std::unique_ptr<Normalizer>(std::make_unique<Unicode>(form));
}

}  // namespace

StageType tokenizer_stage_normalizer_unicode() {
  return {.types = {"NFC", "NFD", "NFKC", "NFKD"}, .normalizer = make_normalizer_unicode};
}

}  // namespace hone

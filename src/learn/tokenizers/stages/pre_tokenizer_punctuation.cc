// "Punctuation": punctuation characters are delimiters; "behavior" says where they go.
#include "learn/tokenizers/stages/split_behavior.h"
#include "learn/tokenizers/text/bert_chars.h"

namespace hone {
namespace {

class Punctuation : public PreTokenizer {
 public:
  explicit Punctuation(SplitBehavior behavior) : behavior_(behavior), chars_(bert_chars()) {}

  void split(std::string_view text, bool /*at_start*/, PieceSink sink) const override {
    SplitJoiner joiner{text, behavior_, sink};
    const char *const start = text.data(), *const end = start + text.size();
    size_t done = 0;  // before which all is taken
    for (const char* p = start; p < end;) {
      const Char c = decode_char(p, end);
      const auto at = static_cast<size_t>(p - start);
      p += c.length;
      if (c.code == kInvalidChar || !(bert_char(chars_, c.code) & kBertPunctuation)) continue;
      if (at > done) joiner.take(done, at, false);
      done = static_cast<size_t>(p - start);
      joiner.take(at, done, true);
    }
    if (done < text.size()) joiner.take(done, text.size(), false);
    joiner.flush();
  }

 private:
  SplitBehavior behavior_;
  const uint8_t* chars_;
};

Result<std::unique_ptr<PreTokenizer>> make_pre_tokenizer_punctuation(const JsonAt& spec,
                                                                     const StageContext&) {
  const SplitBehavior behavior =
      HONE_TRY(split_behavior(HONE_TRY(spec.get("behavior")), "Punctuation"));
  return std::unique_ptr<PreTokenizer>(std::make_unique<Punctuation>(behavior));
}

}  // namespace

StageType tokenizer_stage_pre_tokenizer_punctuation() {
  return {.types = {"Punctuation"}, .pre_tokenizer = make_pre_tokenizer_punctuation};
}

}  // namespace hone

// "BertPreTokenizer": words between white space, every punctuation character alone.
// "WhitespaceSplit": what is between white space.
#include <array>

#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/bert_chars.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class Words : public PreTokenizer {
 public:
  explicit Words(uint8_t alone) : alone_(alone), chars_(bert_chars()) {}

  void split(std::string_view text, bool /*at_start*/, PieceSink sink) const override {
    const char *start = text.data(), *const end = start + text.size();
    const auto cut = [&](const char* at) {
      if (at > start) sink({start, static_cast<size_t>(at - start)});
      start = at;
    };
    for (const char* p = start; p < end;) {
      const Char c = decode_char(p, end);
      const uint8_t bits = c.code == kInvalidChar ? 0 : bert_char(chars_, c.code);
      if (!(bits & (kBertSpace | alone_))) {
        p += c.length;
        continue;
      }
      cut(p);
      p += c.length;
      if (bits & kBertSpace)
        start = p;
      else
        cut(p);
    }
    cut(end);
  }

 private:
  uint8_t alone_;  // characters that are pieces of their own
  const uint8_t* chars_;
};

Result<std::unique_ptr<PreTokenizer>> make_pre_tokenizer_bert(const JsonAt& spec,
                                                              const StageContext&) {
  const bool bert = HONE_TRY(spec.string("type")) == "BertPreTokenizer";
  return std::unique_ptr<PreTokenizer>(
      std::make_unique<Words>(static_cast<uint8_t>(bert ? kBertPunctuation : 0)));
}

}  // namespace

StageType tokenizer_stage_pre_tokenizer_bert() {
  return {.types = {"BertPreTokenizer", "WhitespaceSplit"},
          .pre_tokenizer = make_pre_tokenizer_bert};
}

}  // namespace hone

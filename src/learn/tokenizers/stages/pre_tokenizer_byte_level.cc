// "ByteLevel": an optional space before the text, an optional split by the pattern of GPT-2, and
// from here on text means bytes.  Reference: huggingface/tokenizers pre_tokenizers/byte_level.
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/scanners.h"
#include "learn/tokenizers/text/scratch_string.h"

namespace hone {
namespace {

class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  ByteLevelPreTokenizer(bool add_prefix_space, bool use_regex)
      : add_prefix_space_(add_prefix_space), use_regex_(use_regex) {}

  void split(std::string_view text, bool /*at_start*/, PieceSink sink) const override {
    if (text.empty()) return;
    ScratchString with_space;
    if (add_prefix_space_ && text.front() != ' ') {
      *with_space += ' ';
      *with_space += text;
      text = *with_space;
    }
    if (!use_regex_) return sink(text);
    const char* end = text.data() + text.size();
    for (const char* p = text.data(); p < end;) {
      const char* q = scan_gpt2(p, end);
      sink({p, static_cast<size_t>(q - p)});
      p = q;
    }
  }
  bool byte_level() const override { return true; }

 private:
  bool add_prefix_space_, use_regex_;
};

Result<std::unique_ptr<PreTokenizer>> make_pre_tokenizer_byte_level(const JsonAt& spec,
                                                                    const StageContext& context) {
  const bool written = HONE_TRY(spec.boolean_or("add_prefix_space", true));
  const bool add_prefix_space = context.add_prefix_space.value_or(written);
  const bool use_regex = HONE_TRY(spec.boolean_or("use_regex", true));
  return std::unique_ptr<PreTokenizer>(
      std::make_unique<ByteLevelPreTokenizer>(add_prefix_space, use_regex));
}

}  // namespace

StageType tokenizer_stage_pre_tokenizer_byte_level() {
  return {.types = {"ByteLevel"}, .pre_tokenizer = make_pre_tokenizer_byte_level};
}

}  // namespace hone

// "Metaspace": spaces become U+2581, one is put before the text, and the text may be split before
// each. Old files say add_prefix_space instead of prepend_scheme, and str_rep is of no effect.
// Reference: huggingface/tokenizers pre_tokenizers/metaspace.
#include "base/unicode/swar.h"
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/metaspace.h"
#include "learn/tokenizers/text/pattern.h"
#include "learn/tokenizers/text/scratch_string.h"

namespace hone {
namespace {

class MetaspaceSplit : public PreTokenizer {
 public:
  explicit MetaspaceSplit(Metaspace m) : m_(std::move(m)) {}

  void split(std::string_view text, bool at_start, PieceSink sink) const override {
    if (text.empty()) return;
    ScratchString spaced;
    const bool wanted =
        m_.scheme == Metaspace::kAlways || (m_.scheme == Metaspace::kFirst && at_start);
    if (wanted && text[0] != ' ' && !text.starts_with(m_.replacement)) *spaced += m_.replacement;
    append_replaced_byte(text, ' ', m_.replacement, *spaced);
    const std::string_view all = *spaced;
    if (!m_.split) return sink(all);
    const char* const end = all.data() + all.size();
    for (const char* p = all.data(); p < end;) {
      const char* q = find_near(p + 1, end, m_.replacement[0]);
      while (q < end &&
             !std::string_view(q, static_cast<size_t>(end - q)).starts_with(m_.replacement))
        q = find_near(q + 1, end, m_.replacement[0]);
      sink({p, static_cast<size_t>(q - p)});
      p = q;
    }
  }

 private:
  Metaspace m_;
};

Result<std::unique_ptr<PreTokenizer>> make_pre_tokenizer_metaspace(const JsonAt& spec,
                                                                   const StageContext&) {
  return std::unique_ptr<PreTokenizer>(
      std::make_unique<MetaspaceSplit>(HONE_TRY(read_metaspace(spec))));
}

}  // namespace

StageType tokenizer_stage_pre_tokenizer_metaspace() {
  return {.types = {"Metaspace"}, .pre_tokenizer = make_pre_tokenizer_metaspace};
}

}  // namespace hone

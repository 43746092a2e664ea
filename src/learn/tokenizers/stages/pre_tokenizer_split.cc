// "Split": cuts a text at the matches of a pattern; "behavior" says where the matches go.
#include "learn/tokenizers/stages/split_behavior.h"
#include "learn/tokenizers/text/pattern.h"

namespace hone {
namespace {

class Split : public PreTokenizer {
 public:
  Split(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void split(std::string_view text, bool /*at_start*/, PieceSink sink) const override {
    SplitJoiner joiner{text, behavior_, sink};
    size_t done = 0;
    pattern_->each_match(text, [&](size_t begin, size_t end) {
      if (begin > done) joiner.take(done, begin, invert_);
      joiner.take(begin, end, !invert_);
      done = end;
    });
    if (done < text.size()) joiner.take(done, text.size(), invert_);
    joiner.flush();
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

Result<std::unique_ptr<PreTokenizer>> make_pre_tokenizer_split(const JsonAt& spec,
                                                               const StageContext&) {
  auto pattern = HONE_TRY(make_pattern(HONE_TRY(spec.get("pattern"))));
  const SplitBehavior behavior = HONE_TRY(split_behavior(HONE_TRY(spec.get("behavior")), "Split"));
  const bool invert = HONE_TRY(spec.boolean_or("invert", false));
  return std::unique_ptr<PreTokenizer>(
      std::make_unique<Split>(std::move(pattern), behavior, invert));
}

}  // namespace

StageType tokenizer_stage_pre_tokenizer_split() {
  return {.types = {"Split"}, .pre_tokenizer = make_pre_tokenizer_split};
}

}  // namespace hone

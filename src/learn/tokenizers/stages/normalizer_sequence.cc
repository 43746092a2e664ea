// "Sequence": normalizers one after the other.
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/scratch_string.h"

namespace hone {
namespace {

class SequenceNormalizer : public Normalizer {
 public:
  explicit SequenceNormalizer(std::vector<std::unique_ptr<Normalizer>> steps)
      : steps_(std::move(steps)) {}

  std::string_view normalize(std::string_view text, std::string& buffer) const override {
    ScratchString spare;
    std::string *target = &buffer, *held = &*spare;  // `held` is the one that text may be in
    for (const auto& step : steps_) {
      text = step->normalize(text, *target);
      if (lies_in(text, *target)) std::swap(target, held);
    }
    if (!lies_in(text, *spare)) return text;
    const auto offset = static_cast<size_t>(text.data() - spare->data());
    buffer.swap(*spare);
    return std::string_view(buffer).substr(offset, text.size());
  }

 private:
  static bool lies_in(std::string_view text, const std::string& s) {
    return text.data() >= s.data() && text.data() <= s.data() + s.size();
  }

  std::vector<std::unique_ptr<Normalizer>> steps_;
};

Result<std::unique_ptr<Normalizer>> make_normalizer_sequence(const JsonAt& spec,
                                                             const StageContext& context) {
  const JsonAt list = HONE_TRY(spec.get("normalizers"));
  std::vector<std::unique_ptr<Normalizer>> steps;
  size_t index = 0;
  for (const JsonElement step : HONE_TRY(list.array()))
    steps.push_back(HONE_TRY(make_normalizer(list.item(step, index++), context)));
  return std::unique_ptr<Normalizer>(std::make_unique<SequenceNormalizer>(std::move(steps)));
}

}  // namespace

StageType tokenizer_stage_normalizer_sequence() {
  return {.types = {"Sequence"}, .normalizer = make_normalizer_sequence};
}

}  // namespace hone

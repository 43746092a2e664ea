// "Sequence": normalizers one after the other.
#include "learn/tokenizers/stages.h"

namespace hone {
namespace {

class Sequence : public Normalizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Normalizer>> steps) : steps_(std::move(steps)) {}

  std::string_view normalize(std::string_view text, std::string& buffer) const override {
    std::string next;
    for (const auto& step : steps_) {
      const std::string_view out = step->normalize(text, next);
      if (out.data() == text.data()) {  // unchanged, or a part of what it was given
        text = out;
        continue;
      }
      const std::string copy(out);
      buffer = copy;
      text = buffer;
    }
    return text;
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

Result<std::unique_ptr<Normalizer>> make(const JsonAt& spec, const StageContext& context) {
  const JsonAt list = HONE_TRY(spec.get("normalizers"));
  std::vector<std::unique_ptr<Normalizer>> steps;
  size_t index = 0;
  for (const JsonElement step : HONE_TRY(list.array()))
    steps.push_back(HONE_TRY(make_normalizer(list.item(step, index++), context)));
  return std::unique_ptr<Normalizer>(std::make_unique<Sequence>(std::move(steps)));
}

}  // namespace

StageType tokenizer_stage_normalizer_sequence() {
  return {.types = {"Sequence"}, .normalizer = make};
}

}  // namespace hone

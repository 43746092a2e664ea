// "Sequence": post-processors one after the other.
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class SequencePostProcessor : public PostProcessor {
 public:
  explicit SequencePostProcessor(std::vector<std::unique_ptr<PostProcessor>> steps)
      : steps_(std::move(steps)) {}
  void process(std::vector<Encoding>& parts) const override {
    for (const auto& step : steps_) step->process(parts);
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> steps_;
};

Result<std::unique_ptr<PostProcessor>> make_post_processor_sequence(const JsonAt& spec,
                                                                    const StageContext& context) {
  const JsonAt list = HONE_TRY(spec.get("processors"));
  std::vector<std::unique_ptr<PostProcessor>> steps;
  size_t index = 0;
  for (const JsonElement step : HONE_TRY(list.array()))
    steps.push_back(HONE_TRY(make_post_processor(list.item(step, index++), context)));
  return std::unique_ptr<PostProcessor>(std::make_unique<SequencePostProcessor>(std::move(steps)));
}

}  // namespace

StageType tokenizer_stage_post_processor_sequence() {
  return {.types = {"Sequence"}, .post_processor = make_post_processor_sequence};
}

}  // namespace hone

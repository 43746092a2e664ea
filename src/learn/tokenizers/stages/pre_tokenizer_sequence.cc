// "Sequence": each pre-tokenizer splits the pieces of the one before it.
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class SequencePreTokenizer : public PreTokenizer {
 public:
  explicit SequencePreTokenizer(std::vector<std::unique_ptr<PreTokenizer>> steps)
      : steps_(std::move(steps)) {}

  void split(std::string_view text, bool at_start, PieceSink sink) const override {
    split_from(0, text, at_start, sink);
  }
  bool byte_level() const override { return !steps_.empty() && steps_.back()->byte_level(); }

 private:
  void split_from(size_t step, std::string_view text, bool at_start, PieceSink sink) const {
    if (step == steps_.size()) return sink(text);
    if (step + 1 == steps_.size()) return steps_[step]->split(text, at_start, sink);
    steps_[step]->split(text, at_start, [&](std::string_view piece) {
      split_from(step + 1, piece, at_start, sink);
      at_start = false;
    });
  }

  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

Result<std::unique_ptr<PreTokenizer>> make_pre_tokenizer_sequence(const JsonAt& spec,
                                                                  const StageContext& context) {
  const JsonAt list = HONE_TRY(spec.get("pretokenizers"));
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  size_t index = 0;
  for (const JsonElement step : HONE_TRY(list.array())) {
    const JsonAt at = list.item(step, index++);
    if (!steps.empty() && steps.back()->byte_level())
      return Error(err::kTokenizerKind,
                   "a pre-tokenizer after ByteLevel, which would have to "
                   "split the byte-level alphabet instead of the text")
          .at(at.where)
          .todo("hone reads sequences in which ByteLevel is the last step");
    steps.push_back(HONE_TRY(make_pre_tokenizer(at, context)));
  }
  return std::unique_ptr<PreTokenizer>(std::make_unique<SequencePreTokenizer>(std::move(steps)));
}

}  // namespace

StageType tokenizer_stage_pre_tokenizer_sequence() {
  return {.types = {"Sequence"}, .pre_tokenizer = make_pre_tokenizer_sequence};
}

}  // namespace hone

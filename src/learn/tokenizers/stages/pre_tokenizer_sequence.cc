// "Sequence": each pre-tokenizer splits the pieces of the one before it.
#include "base/unicode/unicode.h"
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/scratch_string.h"

namespace hone {
namespace {

// A step after ByteLevel: it splits the spelling of the bytes in the byte-level alphabet, and changes no letter.
class StepOnLetters : public PreTokenizer {
 public:
  explicit StepOnLetters(std::unique_ptr<PreTokenizer> step) : step_(std::move(step)) {}

  void split(std::string_view bytes, bool at_start, PieceSink sink) const override {
    ScratchString letters;
    append_byte_level(bytes, *letters);
    const char* at = letters->data();  // the letter of the byte `done`
    size_t done = 0;
    step_->split(*letters, at_start, [&](std::string_view piece) {
      if (piece.empty()) return;
      const auto skip_to = [&](const char* end) {
        const size_t first = done;
        // Letters of one or two bytes.
        for (; at < end; ++done) at += static_cast<unsigned char>(*at) < 0x80 ? 1 : 2;
        return first;
      };
      skip_to(piece.data());
      const size_t first = skip_to(piece.data() + piece.size());
      if (done > first) sink(bytes.substr(first, done - first));
    });
  }
  bool byte_level() const override { return true; }

 private:
  std::unique_ptr<PreTokenizer> step_;
};

// Kinds of steps that give parts of their text.
bool splits_alone(std::string_view type) {
  return type == "Split" || type == "Digits" || type == "Punctuation";
}

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
    const bool on_letters = !steps.empty() && steps.back()->byte_level();
    const std::string type(HONE_TRY(HONE_TRY(at.get("type")).string()));
    if (on_letters && !splits_alone(type))
      return Error(err::kTokenizerKind,
                   fmt::format("the pre-tokenizer {} after ByteLevel, which would have to change "
                               "the byte-level alphabet instead of the text",
                               type))
          .at(at.where)
          .todo("hone reads Split, Digits and Punctuation after ByteLevel");
    auto made = HONE_TRY(make_pre_tokenizer(at, context));
    if (on_letters) made = std::make_unique<StepOnLetters>(std::move(made));
    steps.push_back(std::move(made));
  }
  return std::unique_ptr<PreTokenizer>(std::make_unique<SequencePreTokenizer>(std::move(steps)));
}

}  // namespace

StageType tokenizer_stage_pre_tokenizer_sequence() {
  return {.types = {"Sequence"}, .pre_tokenizer = make_pre_tokenizer_sequence};
}

}  // namespace hone

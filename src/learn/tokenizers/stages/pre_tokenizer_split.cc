// "Split": cuts a text at the matches of a pattern; "behavior" says where the matches go.
// Reference: huggingface/tokenizers tokenizer/normalizer.rs, SplitDelimiterBehavior.
#include "base/core/text.h"
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/pattern.h"

namespace hone {
namespace {

enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

class Split : public PreTokenizer {
 public:
  Split(std::unique_ptr<Pattern> pattern, Behavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void split(std::string_view text, bool /*at_start*/, PieceSink sink) const override {
    Joiner joiner{text, behavior_, sink};
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
  // Receives the text as a row of segments, each a delimiter or not, and joins them to pieces.
  struct Joiner {
    std::string_view text;
    Behavior behavior;
    PieceSink sink;
    size_t begin = 0, end = 0;  // the piece being joined, empty when begin == end
    bool last_was_delimiter = false;

    void take(size_t from, size_t to, bool delimiter) {
      bool join = false;  // with the piece before
      switch (behavior) {
        case Behavior::kRemoved:
        case Behavior::kIsolated:
          break;
        case Behavior::kMergedWithPrevious:
          join = delimiter && !last_was_delimiter;
          break;
        case Behavior::kMergedWithNext:
          join = last_was_delimiter && !delimiter;
          break;
        case Behavior::kContiguous:
          join = delimiter == last_was_delimiter;
          break;
      }
      last_was_delimiter = delimiter;
      if (!join || begin == end) {
        flush();
        begin = from;
      }
      end = to;
      if (behavior == Behavior::kRemoved && delimiter) begin = end;
    }
    void flush() {
      if (begin < end) sink(text.substr(begin, end - begin));
      begin = end;
    }
  };

  std::unique_ptr<Pattern> pattern_;
  Behavior behavior_;
  bool invert_;
};

Result<std::unique_ptr<PreTokenizer>> make_pre_tokenizer_split(const JsonAt& spec,
                                                               const StageContext&) {
  auto pattern = HONE_TRY(make_pattern(HONE_TRY(spec.get("pattern"))));
  const JsonAt at = HONE_TRY(spec.get("behavior"));
  const std::string name(HONE_TRY(at.string()));
  const std::vector<std::string> names = {"Removed", "Isolated", "MergedWithPrevious",
                                          "MergedWithNext", "Contiguous"};
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    return Error(err::kTokenizerStage, fmt::format("unknown behavior \"{}\" of Split", name))
        .at(at.where)
        .todo(fmt::format("the behaviors are {}", join(names, ", ")));
  const bool invert = HONE_TRY(spec.boolean_or("invert", false));
  return std::unique_ptr<PreTokenizer>(std::make_unique<Split>(
      std::move(pattern), static_cast<Behavior>(found - names.begin()), invert));
}

}  // namespace

StageType tokenizer_stage_pre_tokenizer_split() {
  return {.types = {"Split"}, .pre_tokenizer = make_pre_tokenizer_split};
}

}  // namespace hone

// The places of delimiters in the pieces of a text: "behavior" of Split and Punctuation.
// Reference: huggingface/tokenizers tokenizer/normalizer.rs, SplitDelimiterBehavior.
#pragma once

#include <algorithm>
#include <string_view>

#include "base/core/text.h"
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {

enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// The behavior by its name in tokenizer.json; errors name `stage`.
inline Result<SplitBehavior> split_behavior(const JsonAt& at, const char* stage) {
  const std::string name(HONE_TRY(at.string()));
  const std::vector<std::string> names = {"Removed", "Isolated", "MergedWithPrevious",
                                          "MergedWithNext", "Contiguous"};
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    return Error(err::kTokenizerStage, fmt::format("unknown behavior \"{}\" of {}", name, stage))
        .at(at.where)
        .todo(fmt::format("the behaviors are {}", join(names, ", ")));
  return static_cast<SplitBehavior>(found - names.begin());
}

// Receives the text as a row of segments, each a delimiter or not, and joins them to pieces.
struct SplitJoiner {
  std::string_view text;
  SplitBehavior behavior;
  PieceSink sink;
  size_t begin = 0, end = 0;  // the piece being joined, empty when begin == end
  bool last_was_delimiter = false;

  void take(size_t from, size_t to, bool delimiter) {
    bool join = false;  // with the piece before
    switch (behavior) {
      case SplitBehavior::kRemoved:
      case SplitBehavior::kIsolated:
        break;
      case SplitBehavior::kMergedWithPrevious:
        join = delimiter && !last_was_delimiter;
        break;
      case SplitBehavior::kMergedWithNext:
        join = last_was_delimiter && !delimiter;
        break;
      case SplitBehavior::kContiguous:
        join = delimiter == last_was_delimiter;
        break;
    }
    last_was_delimiter = delimiter;
    if (!join || begin == end) {
      flush();
      begin = from;
    }
    end = to;
    if (behavior == SplitBehavior::kRemoved && delimiter) begin = end;
  }
  void flush() {
    if (begin < end) sink(text.substr(begin, end - begin));
    begin = end;
  }
};

}  // namespace hone

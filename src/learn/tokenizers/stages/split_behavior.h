// Splits a text at delimiters. The member "behavior" of the stages Split and Punctuation decides what happens to the
// delimiters.
// Reference: huggingface/tokenizers tokenizer/normalizer.rs, SplitDelimiterBehavior.
#pragma once

#include <algorithm>
#include <string_view>

#include "base/core/text.h"
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {

// For the text "a--b" with the delimiter "-":
//   kRemoved             a, b          delimiters are dropped
//   kIsolated            a, -, -, b    each delimiter is a piece
//   kMergedWithPrevious  a-, -, b      a delimiter is appended to the text before it
//   kMergedWithNext      a, -, -b      a delimiter is put in front of the text after it
//   kContiguous          a, --, b      adjacent delimiters are one piece
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// Reads the name of a behavior from tokenizer.json. `stage` is the name of the stage for messages. Errors: H2003 the
// name is unknown; H2002 the value is not a string.
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

// Joins the segments of a text (delimiters, and the texts between them) into pieces, by the rule `behavior`. Call
// take() for all segments in order, then flush(). Passes each piece to `sink`.
struct SplitJoiner {
  std::string_view text;
  SplitBehavior behavior;
  PieceSink sink;
  size_t begin = 0, end = 0;  // the bytes of the piece that is being joined; empty if begin == end
  bool last_was_delimiter = false;

  // The next segment: bytes [from, to) of the text, and whether they are a delimiter.
  void take(size_t from, size_t to, bool delimiter) {
    bool join = false;  // append the segment to the current piece
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
  // Passes the current piece to the sink.
  void flush() {
    if (begin < end) sink(text.substr(begin, end - begin));
    begin = end;
  }
};

}  // namespace hone

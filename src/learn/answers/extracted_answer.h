// Finds the answer to a question in its context, from the scores that a model gives each token to begin and to end the
// answer. Follows Transformers' run_qa; names of its arguments are in brackets.
//
//   ExtractedAnswer a = extract_answer({.n_best = 20}, context, rows);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "learn/answers/context_parts.h"

namespace hone {

struct AnswerRules {
  // The number of best begin tokens and of best end tokens of a row that are combined, and of candidates that are kept
  // (n_best_size).
  int64_t n_best = 20;
  int64_t most_tokens = 30;  // longest answer in tokens (max_answer_length)
  bool may_lack = false;     // a question may have no answer (version_2_with_negative)
  // With may_lack: the question has no answer if null_odds is more than this (null_score_diff_threshold).
  double null_margin = 0;
};

// One row of a question.
struct ScoredPart {
  int32_t context = 0;                // ContextPart::context
  const ContextSpans& spans;          // ContextPart::spans
  std::span<const float> begin, end;  // each token's score to begin, or to end, the answer
};

struct AnswerCandidate {
  std::string text;         // "": no answer
  size_t from = 0, to = 0;  // the bytes [from, to) of the context; both 0: no answer
  // Scores of the first token to begin and of the last token to end the answer; score = begin + end.
  float score = 0, begin = 0, end = 0;
  double probability = 0;  // softmax of the scores of the kept candidates
};

struct ExtractedAnswer {
  std::string text;  // "": no answer
  // The kept candidates, the best first; at least one. If there is no answer at all, the first has the text "empty",
  // as in run_qa, and no bytes.
  std::vector<AnswerCandidate> best;
  // With may_lack: the score of "no answer" minus the score of the best answer; none: without may_lack.
  std::optional<double> null_odds;
  std::optional<size_t> chosen;  // index of the answer in `best`; none: no answer
};

// Combines the n_best begin tokens and end tokens of each row into candidates. The score of "no answer" is that of a
// row's first token; the least one of all rows counts. `context`: the text to which the spans refer. `parts`: all rows
// of the question, at least one.
ExtractedAnswer extract_answer(const AnswerRules& rules, std::string_view context,
                               std::span<const ScoredPart> parts);

}  // namespace hone

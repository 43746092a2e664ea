// Finds the answer to a question in its context. The model has given each token two scores: its begin score, for being
// the first token of the answer, and its end score, for being the last. Follows Transformers' run_qa; the names of
// run_qa's arguments are in brackets.
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
  // In each row, the n_best tokens with the best begin scores are combined with the n_best tokens with the best end
  // scores. The n_best best of these candidates, over all rows, are kept (n_best_size).
  int64_t n_best = 20;
  int64_t most_tokens = 30;  // longest answer in tokens (max_answer_length)
  bool may_lack = false;     // a question may have no answer (version_2_with_negative)
  // With may_lack: the question has no answer if ExtractedAnswer::null_odds is more than this
  // (null_score_diff_threshold).
  double null_margin = 0;
};

// One row of a question.
struct ScoredPart {
  int32_t context = 0;                // ContextPart::context
  const ContextSpans& spans;          // ContextPart::spans
  std::span<const float> begin, end;  // each token's begin score, and its end score
};

struct AnswerCandidate {
  std::string text;         // "": no answer
  size_t from = 0, to = 0;  // the bytes [from, to) of the context; both 0: no answer
  // begin: the begin score of the answer's first token. end: the end score of its last token. score = begin + end.
  float score = 0, begin = 0, end = 0;
  double probability = 0;  // softmax of the scores of the kept candidates
};

struct ExtractedAnswer {
  std::string text;  // "": no answer
  // The kept candidates, the best first; at least one. If there is no candidate, or only one and it has no text, a
  // candidate with the text "empty" and without bytes is added at the front, as in run_qa.
  std::vector<AnswerCandidate> best;
  // With may_lack: the score of "no answer" minus the score of the best answer; none: without may_lack.
  std::optional<double> null_odds;
  std::optional<size_t> chosen;  // index of the answer in `best`; none: no answer
};

// Combines the best begin and end tokens of each row into candidates, and chooses the answer. A row's score of "no
// answer" is the begin score plus the end score of the row's first token; the lowest of all rows counts. `context`: the
// text to which the spans refer. `parts`: all rows of the question, at least one.
ExtractedAnswer extract_answer(const AnswerRules& rules, std::string_view context,
                               std::span<const ScoredPart> parts);

}  // namespace hone

// The answer to a question by the scores of the tokens of its rows, with the rules of run_qa.
//
//   ExtractedAnswer a = extract_answer({.n_best = 20}, context, rows);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "learn/answers/context_parts.h"

namespace hone {

// Names and defaults of run_qa's arguments are in brackets.
struct AnswerRules {
  int64_t n_best = 20;  // beginnings and ends of a row to join, and answers to keep (n_best_size)
  int64_t most_tokens = 30;  // of an answer (max_answer_length)
  bool may_lack = false;     // a question may have no answer (version_2_with_negative)
  double null_margin = 0;  // no answer, if its score is higher by more (null_score_diff_threshold)
};

// A row of a question with the scores of its tokens to begin and to end the answer.
struct ScoredPart {
  int32_t context = 0;  // as in ContextPart, and the next
  const ContextSpans& spans;
  std::span<const float> begin, end;
};

struct AnswerCandidate {
  std::string text;         // "": no answer
  size_t from = 0, to = 0;  // bytes of the context; both 0: no answer
  float score = 0, begin = 0, end = 0;
  double probability = 0;  // among the candidates that are kept
};

struct ExtractedAnswer {
  std::string text;  // "": the context has none
  std::vector<AnswerCandidate>
      best;  // best first, at least one; "empty" without bytes: no token can be one
  std::optional<double> null_odds;  // with may_lack: the score of no answer less that of the best
  // Place in `best` of the answer; none: the context has none.
  std::optional<size_t> chosen;
};

// The n best beginnings and ends of each row are joined; with may_lack a question has no answer if the first
// tokens of its rows score higher.
ExtractedAnswer extract_answer(const AnswerRules& rules, std::string_view context,
                               std::span<const ScoredPart> parts);

}  // namespace hone

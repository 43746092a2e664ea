// Answers by the scores of tokens, with the rules and files of run_qa.
#pragma once

#include <span>

#include "learn/harness/example_scores.h"
#include "learn/tasks/qa_data.h"

namespace hone {

// The scores of the tokens of a row.
struct QaScores {
  std::vector<float> begin, end;
};

struct QaAnswers {
  std::vector<std::string> texts;                 // the answer of each example
  OrderedJson nbest = OrderedJson::object();      // lists of answers with their scores by id
  OrderedJson null_odds = OrderedJson::object();  // version_2_with_negative: by id
};

// `scores`: by row of the split. The n best beginnings and ends of each row of a question are joined; with
// version_2_with_negative a question has no answer if the first tokens of its rows score higher.
QaAnswers find_answers(const QaSettings& s, const QaSplit& split, std::span<const QaScores> scores);

// exact_match and f1 of SQuAD 1.1's script; with `negatives` the values of 2.0's. `texts`: the answers of the first
// examples, in their order. `each`: takes the scores of each example if it is not null.
OrderedJson score_answers(std::span<const QaExample> examples, std::span<const std::string> texts,
                          bool negatives, ExampleScores* each);

// Row i of a sample project, of both tasks that answer questions.
OrderedJson sample_question(int i);

// Writes <prefix>_predictions.json (texts by id), <prefix>_nbest_predictions.json and with version_2_with_negative
// <prefix>_null_odds.json.
Status write_answers(const QaSettings& s, std::span<const QaExample> examples,
                     const QaAnswers& answers, const std::string& folder,
                     const std::string& prefix);

}  // namespace hone

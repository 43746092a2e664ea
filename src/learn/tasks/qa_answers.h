// Answers by the scores of tokens, with the rules and files of run_qa.
#pragma once

#include <span>

#include "learn/tasks/qa_data.h"

namespace hone {

// The scores of the tokens of a row.
struct QaScores {
  std::vector<float> begin, end;
};

struct QaAnswers {
  OrderedJson predictions = OrderedJson::object();  // the answer's text by id
  OrderedJson nbest = OrderedJson::object();        // lists of answers with their scores by id
  OrderedJson null_odds = OrderedJson::object();    // version_2_with_negative: by id
};

// `scores`: by row of the split. The n best beginnings and ends of each row of a question are joined; with
// version_2_with_negative a question has no answer if the first tokens of its rows score higher.
QaAnswers find_answers(const QaSettings& s, const QaSplit& split, std::span<const QaScores> scores);

// exact_match and f1 of SQuAD 1.1's script; with `negatives` the values of 2.0's. `predictions`: texts by id.
OrderedJson score_answers(const std::vector<QaExample>& examples, const OrderedJson& predictions,
                          bool negatives);

// Writes <prefix>_predictions.json, <prefix>_nbest_predictions.json and with version_2_with_negative
// <prefix>_null_odds.json.
Status write_answers(const QaSettings& s, const QaAnswers& answers, const std::string& folder,
                     const std::string& prefix);

}  // namespace hone

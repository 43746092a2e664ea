// Finds the answers of extractive question answering from the scores of tokens, scores them and writes them, with the
// rules and files of Transformers' example script run_qa.
#pragma once

#include <span>

#include "learn/harness/example_scores.h"
#include "learn/tasks/qa_data.h"

namespace hone {

// The scores of the tokens of a row (QaPart).
struct QaScores {
  std::vector<float> begin, end;  // for each token: score that an answer begins, or ends, with it
};

struct QaAnswers {
  std::vector<std::string> texts;  // the answer of each example; "": no answer
  // By id of the example: the best answers with their scores.
  OrderedJson nbest = OrderedJson::object();
  // With version_2_with_negative, by id: score of "no answer".
  OrderedJson null_odds = OrderedJson::object();
};

// Finds the answer of each example. `scores`: for each row of the split. Combines the n_best_size best begins and ends
// of each row of a question. With version_2_with_negative a question has no answer if the first tokens of its rows,
// which stand for "no answer", score higher.
QaAnswers find_answers(const QaSettings& s, const QaSplit& split, std::span<const QaScores> scores);

// The metrics exact_match and f1 of SQuAD 1.1's script; with `negatives`, the metrics of SQuAD 2.0's script. `texts`:
// the answers of the first texts.size() examples. `each`: receives the scores of each example; null: they are not
// needed.
OrderedJson score_answers(std::span<const QaExample> examples, std::span<const std::string> texts,
                          bool negatives, ExampleScores* each);

// Row i of the sample project of the two tasks that answer questions.
OrderedJson sample_question(int i);

// Writes <prefix>_predictions.json (the texts by id), <prefix>_nbest_predictions.json and, with
// version_2_with_negative, <prefix>_null_odds.json into the folder.
Status write_answers(const QaSettings& s, std::span<const QaExample> examples,
                     const QaAnswers& answers, const std::string& folder,
                     const std::string& prefix);

}  // namespace hone

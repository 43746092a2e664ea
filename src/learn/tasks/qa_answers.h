// For extractive question answering: finds answers by the scores of tokens, computes the metrics of the answers and
// writes the answers, with the rules and files of Transformers' example script run_qa.
#pragma once

#include <span>

#include "learn/harness/example_scores.h"
#include "learn/tasks/qa_data.h"

namespace hone {

// The scores that the model gives the tokens of a row (QaPart).
struct QaScores {
  // For each token of the row. begin: its score as the first token of the answer. end: its score as the last token.
  std::vector<float> begin, end;
};

struct QaAnswers {
  std::vector<std::string> texts;  // the answer of each example; "": no answer
  // By id of the example: a list of the best answers, the best first. An answer is an object {"start_logit",
  // "end_logit", "text", "probability"}.
  OrderedJson nbest = OrderedJson::object();
  // With version_2_with_negative, by id of the example: the score of "no answer" minus the score of the best answer.
  // Otherwise empty.
  OrderedJson null_odds = OrderedJson::object();
};

// Finds the answer of each example with the rules of extract_answer (learn/answers/extracted_answer.h) and the settings
// n_best_size, max_answer_length, version_2_with_negative and null_score_diff_threshold. `scores`: an element for each
// row of the split.
QaAnswers find_answers(const QaSettings& s, const QaSplit& split, std::span<const QaScores> scores);

// The metrics "exact_match" and "f1" of SQuAD 1.1's evaluation script, from 0 to 100. `negatives` true: the metrics of
// SQuAD 2.0's script, "exact", "f1", "total" and those with the prefixes "HasAns_" and "NoAns_". `texts`: the generated
// or found answers of the first texts.size() examples. `each`: receives the scores of each example; null: they are not
// needed.
OrderedJson score_answers(std::span<const QaExample> examples, std::span<const std::string> texts,
                          bool negatives, ExampleScores* each);

// Row i of the sample project of the two tasks that answer questions: extractive and generative question answering.
OrderedJson sample_question(int i);

// Writes three members of `answers` into the folder: <prefix>_predictions.json has `texts` by id of the example,
// <prefix>_nbest_predictions.json has `nbest` and, only with version_2_with_negative, <prefix>_null_odds.json has
// `null_odds`.
Status write_answers(const QaSettings& s, std::span<const QaExample> examples,
                     const QaAnswers& answers, const std::string& folder,
                     const std::string& prefix);

}  // namespace hone

// Scores answers to questions as SQuAD's official evaluation scripts do (github.com/rajpurkar/SQuAD-explorer).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// Normalizes an answer: lower case, without ASCII punctuation, without the articles a, an and the, with single spaces.
std::string normal_answer(std::string_view text);

struct AnswerScore {
  double exact = 0, f1 = 0;  // from 0 to 1
};
// The best exact match and the best F1 over the references. `may_be_empty` true: the rules of SQuAD 2.0 apply. Without
// a reference the right answer is then "". If the prediction or a reference is empty, its F1 is 1 if both are empty,
// else 0.
AnswerScore score_answer(std::string_view prediction, const std::vector<std::string>& references,
                         bool may_be_empty);

}  // namespace hone

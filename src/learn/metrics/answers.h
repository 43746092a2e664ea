// Answers to questions as SQuAD's official scripts compare them (github.com/rajpurkar/SQuAD-explorer).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// In lower case, without ASCII punctuation, articles and extra white space.
std::string normal_answer(std::string_view text);

struct AnswerScore {
  double exact = 0, f1 = 0;  // from 0 to 1
};
// The best over the references. `may_be_empty`: SQuAD 2.0, where "" is the right answer if there is no
// reference, and F1 of an empty answer is 1 if the other is empty too.
AnswerScore score_answer(std::string_view prediction, const std::vector<std::string>& references,
                         bool may_be_empty);

}  // namespace hone

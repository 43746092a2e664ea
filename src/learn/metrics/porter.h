// The stemmer of ROUGE: Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the
// irregular forms and changed rules that NLTK's PorterStemmer has by default (NLTK_EXTENSIONS).
#pragma once

#include <string>

namespace hone {

// Replaces `word`, which consists of a-z and 0-9, by its stem. The stem is at most one character longer than the word.
void porter_stem(std::string& word);

}  // namespace hone

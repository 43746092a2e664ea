// A row as the model gets it, for people to look at.
#pragma once

#include "learn/check/check_rows.h"

namespace hone {

// The first tokens, told apart by colour, or by bars where there is none. A token that is to be
// predicted instead of another is shown after it (`[MASK]>cat`, in colour green); the label of
// the row comes last.
std::string sample_text(const Tokenizer& tokenizer, const SampleRow& row, bool color);

}  // namespace hone

// A row as the model gets it, for people to look at.
#pragma once

#include "learn/check/check_rows.h"

namespace hone {

// The first tokens, distinguished by colour, or by bars without colour. A token that replaces
// another one to predict is shown with it (`[MASK]>cat`, in colour green); the label of the row
// comes last.
std::string sample_text(const Tokenizer& tokenizer, const SampleRow& row, bool color);

}  // namespace hone

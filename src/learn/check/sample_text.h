// Prints a row as the model gets it, for people to look at.
#pragma once

#include "learn/check/check_rows.h"

namespace hone {

// The first 40 tokens of the row as text. `color`: true: tokens have alternating terminal colors; false: a bar "|" is
// between two tokens. A token with a label in row.labels is followed by that label: `[MASK]>cat` or, with `color`, the
// token in red and the label in green. The label of the whole row (row.label) comes last. "(no tokens)" if the row is
// empty.
std::string sample_text(const Tokenizer& tokenizer, const SampleRow& row, bool color);

}  // namespace hone

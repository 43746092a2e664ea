// Training rows that have nothing but special tokens.
#pragma once

#include "learn/harness/examples.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// H2428: every row is like that, and --allow does not name it.
Status check_special_rows(const ExampleRows& rows, const Tokenizer& tokenizer,
                          const TrainSettings& s);

}  // namespace hone

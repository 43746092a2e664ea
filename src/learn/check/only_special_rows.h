// Training rows that have nothing but special tokens.
#pragma once

#include <span>

#include "learn/data/rows/token_rows.h"
#include "learn/tokenizers/tokenizer.h"
#include "learn/train/settings.h"

namespace hone {

// `axes`: the rows' tokens on each axis of the task. H2428: every row is like that, and --allow does
// not name it.
Status check_special_rows(std::span<const TokenRows> axes, const Tokenizer& tokenizer,
                          const TrainSettings& s);

}  // namespace hone

// Position numbers of rows as the family counts them.
#pragma once

#include <cstdint>
#include <span>

#include "learn/models/family.h"

namespace hone {

// `positions` [T] come as 0, 1, 2, ... in each sequence of `ids` [T]. RoBERTa counts the tokens
// that are not padding, also where the text holds the padding token: it gets -1, which is the
// row that the table of positions keeps for it (Transformers' create_position_ids_from_input_ids).
void count_positions(const ModelConfig& config, std::span<const int32_t> ids,
                     std::span<int32_t> positions);

}  // namespace hone

#include "learn/models/positions.h"

namespace hone {

void count_positions(const ModelConfig& config, std::span<const int32_t> ids,
                     std::span<int32_t> positions) {
  if (config.family != "roberta") return;
  int32_t padding = 0;  // tokens of it before this one, in the sequence
  for (size_t t = 0; t < positions.size(); ++t) {
    if (positions[t] == 0) padding = 0;
    if (ids[t] == config.padding_token) {
      positions[t] = -1;
      ++padding;
    } else {
      positions[t] -= padding;
    }
  }
}

}  // namespace hone

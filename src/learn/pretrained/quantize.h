// Converts matrices of f32 to few bits and back, with bitsandbytes' codes
// (engine/ops/block_schemes.h has the formats). Loops over numbers, without a session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/ops/block_schemes.h"

namespace hone {

// Quantizes to a scheme of bitsandbytes, in parts.
class BlockQuantizer {
 public:
  explicit BlockQuantizer(const BlockScheme& scheme);

  // x: whole groups of scheme.scaled elements (of `columns` if a row has a scale); the last of a
  // matrix may be shorter. scales: one for each group. False: a value is not finite.
  bool quantize(std::span<const float> x, int64_t columns, std::span<uint8_t> payload,
                std::span<float> scales) const;

 private:
  bool quantize_codes(std::span<const float> x, std::span<uint8_t> payload,
                      std::span<float> scales) const;

  const BlockScheme& scheme_;
  float bounds_[15] = {};  // between neighbours of the code, ascending
  uint8_t codes_[16] = {};
};

// Scales in 8 bits: a code for each, one `nested` for kNestedBlock of them, and the mean.
struct NestedScales {
  std::vector<uint8_t> codes;
  std::vector<float> nested;
  float offset = 0;
};
NestedScales quantize_scales(std::span<const float> scales);
std::vector<float> widen_scales(const NestedScales& scales);

// The whole matrix [rows, columns].
std::vector<float> widen_matrix(const BlockScheme& scheme, std::span<const uint8_t> payload,
                                std::span<const float> scales, int64_t rows, int64_t columns);

}  // namespace hone

// Quantizes f32 matrices with bitsandbytes' codes and converts them back (engine/ops/block_schemes.h has the formats).
// Plain loops over arrays; no session is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/ops/block_schemes.h"

namespace hone {

// Quantizes to a scheme of bitsandbytes. A matrix may be given in several calls, part after part.
class BlockQuantizer {
 public:
  explicit BlockQuantizer(
      const BlockScheme& scheme);  // kept by reference: must outlive this object

  // Fills `payload` with the codes of x and `scales` with a scale for each group. A group is scheme.scaled elements,
  // or a row of `columns` elements if scheme.scaled is 0. x is whole groups; only the last group of a matrix may be
  // shorter. False: a value is not finite; the output is then not meaningful.
  bool quantize(std::span<const float> x, int64_t columns, std::span<uint8_t> payload,
                std::span<float> scales) const;

 private:
  bool quantize_codes(std::span<const float> x, std::span<uint8_t> payload,
                      std::span<float> scales) const;

  const BlockScheme& scheme_;
  float bounds_[15] = {};  // the bounds between neighbouring values of the code, ascending
  uint8_t codes_[16] = {};
};

// Scales quantized to 8 bits (double quantization, QLoRA): scale i is
// map[codes[i]] * nested[i / kNestedBlock] + offset, with bitsandbytes' map of 256 values.
struct NestedScales {
  std::vector<uint8_t> codes;  // one for each scale
  std::vector<float> nested;   // one for each kNestedBlock scales
  float offset = 0;            // mean of all scales
};
NestedScales quantize_scales(std::span<const float> scales);
std::vector<float> widen_scales(const NestedScales& scales);  // back to f32

// Converts a whole quantized matrix back to f32 [rows, columns], row-major. `scales`: one for each group (see
// BlockQuantizer::quantize).
std::vector<float> widen_matrix(const BlockScheme& scheme, std::span<const uint8_t> payload,
                                std::span<const float> scales, int64_t rows, int64_t columns);

}  // namespace hone

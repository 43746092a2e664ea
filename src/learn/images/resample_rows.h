// Computes the weighted sums of a resize. Pixels have four bytes, and weights have kWeightBits fractional bits. The
// results do not depend on the instruction set.
#pragma once

#include <cstdint>

namespace hone::cpu {

constexpr int kWeightBits = 22;

// Resizes one row to `outputs` pixels: out[i] is the sum over k < count[i] of pixel first[i] + k of `in` times
// weights[i * most + k].
void resample_row(const uint8_t* in, uint8_t* out, int64_t outputs, const int32_t* first,
                  const int32_t* count, const int32_t* weights, int64_t most);
// Computes one output row of `bytes` bytes: the sum over k < count of the row at in + k * stride times weights[k].
void resample_column(const uint8_t* in, int64_t stride, uint8_t* out, int64_t bytes, int64_t count,
                     const int32_t* weights);

}  // namespace hone::cpu

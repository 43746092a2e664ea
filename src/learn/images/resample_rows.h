// Sums of a resize: pixels of four bytes by weights of kWeightBits bits. Results do not depend on the
// instruction set.
#pragma once

#include <cstdint>

namespace hone::cpu {

constexpr int kWeightBits = 22;

// out[i] for `outputs` pixels: the sum of count[i] pixels of `in` from first[i] on by weights[i * most ...].
void resample_row(const uint8_t* in, uint8_t* out, int64_t outputs, const int32_t* first,
                  const int32_t* count, const int32_t* weights, int64_t most);
// A row of `bytes` bytes: the sum of `count` rows, `stride` bytes apart, by weights.
void resample_column(const uint8_t* in, int64_t stride, uint8_t* out, int64_t bytes, int64_t count,
                     const int32_t* weights);

}  // namespace hone::cpu

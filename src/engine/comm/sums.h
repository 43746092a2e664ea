// Sums over ranks in a fixed order: out = x_0 + x_1 + ... for each element.
#pragma once

#include <cstdint>
#include <span>

#include "base/core/threads.h"
#include "engine/graph/type.h"

namespace hone {

// Whether elements of this type have a sum: f64, f32, bf16, f16, i64, i32.
bool has_sum(DType t);

// out[i] = terms[0][i] + terms[1][i] + ... for `count` elements, added from the left: f64 in f64,
// f32 in f32, bf16 and f16 in f32 and rounded once, integers modulo 2^64 and 2^32. `out` may be one
// of the terms. `pool` may be null: the caller's thread alone. Bits do not depend on the number of
// threads.
void sum_terms(DType t, int64_t count, std::span<const std::byte* const> terms, std::byte* out,
               ThreadPool* pool);

}  // namespace hone

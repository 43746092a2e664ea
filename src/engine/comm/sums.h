// Sums over ranks in a fixed order: x_0 + x_1 + ... for each element.
#pragma once

#include <cstdint>
#include <span>

#include "base/core/threads.h"
#include "engine/graph/type.h"

namespace hone {

// Whether sum_terms() supports the type: f64, f32, bf16, f16, i64, i32.
bool has_sum(DType t);

// out[i] = terms[0][i] + terms[1][i] + ..., for `count` elements, added from left to right. f64 is added in f64, f32 in
// f32, bf16 and f16 in f32 and then rounded once; i64 and i32 wrap around. `out` may be one of the terms. `pool` may be
// null: the calling thread adds. The bits do not depend on the number of threads. No term, or another type, is a Bug.
void sum_terms(DType t, int64_t count, std::span<const std::byte* const> terms, std::byte* out,
               ThreadPool* pool);

}  // namespace hone

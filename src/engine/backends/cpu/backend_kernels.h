// Internal to the backend: the two halves of its kernel table.
#pragma once

#include "engine/device/backend.h"

namespace hone::cpu {

Error declined(const NodeView& n, const std::string& why);

// f32 kernels of the composites and of the matrix product.
Result<Kernel> composite_kernel(const NodeView& n, int threads);
// Loops over f32, f64, i64, i32, bool for what models and the update program need besides.
Result<Kernel> primitive_kernel(const NodeView& n);

}  // namespace hone::cpu

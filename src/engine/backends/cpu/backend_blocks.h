// Internal to the backend: operands of nodes whose weights are in blocks (engine/ops/block_schemes.h).
#pragma once

#include "engine/backends/cpu/backend_support.h"
#include "engine/backends/cpu/gemm/gemm.h"

namespace hone::cpu {

// The form of a matrix in the operands of dequantize, or of a product with a scheme; with pointers
// once they are known.
struct BlockOperands {
  Blocks blocks;
  size_t scales = 0, nested = 0, offset = 0;
  bool beside = false, narrow = false;  // there are scales; in 8 bits

  Blocks of(const KernelArgs& a) const {
    Blocks b = blocks;
    if (!beside) return b;
    b.scales = in(a, narrow ? nested : scales);
    if (!narrow) return b;
    b.narrow_scales = static_cast<const uint8_t*>(a.in[scales]);
    b.offset = in(a, offset);
    return b;
  }
};

// kDeclined: there is no kernel for the scheme, or scales are not f32.
Result<BlockOperands> block_operands(const NodeView& n, const Shape& payload);

}  // namespace hone::cpu

// Internal to the backend: operands of nodes whose weight is quantized in blocks (engine/ops/block_schemes.h).
#pragma once

#include "engine/backends/cpu/backend_support.h"
#include "engine/backends/cpu/gemm/gemm.h"

namespace hone::cpu {

// The quantized matrix of a node: of dequantize, or of a matrix product with attribute `scheme`.
struct BlockOperands {
  Blocks blocks;  // the format, without pointers to scales
  // Indices of the operands scales, nested_scales and offset.
  size_t scales = 0, nested = 0, offset = 0;
  // beside: the scales are an operand, not inside the blocks. narrow: the scales are u8, and nested_scales and offset
  // are operands too.
  bool beside = false, narrow = false;

  // The matrix with pointers to the scales of this call.
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

// payload: the shape [rows, bytes of a row] of the quantized matrix. kDeclined (H1401): there is no kernel for the
// scheme, or the scales are not f32.
Result<BlockOperands> block_operands(const NodeView& n, const Shape& payload);

}  // namespace hone::cpu

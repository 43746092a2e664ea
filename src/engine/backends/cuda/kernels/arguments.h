// Arguments that kernels take by value, the same for the host and for a GPU.
#pragma once

#ifndef __CUDACC_RTC__
#include <cstdint>
#endif

namespace hone::cuda {

// A tensor of up to eight dimensions, seen with other strides: element i of the shape is at first + the
// sum of its indices times `stride`, all in elements.
struct Strided {
  int rank = 0;
  int64_t first = 0;
  int64_t size[8] = {}, stride[8] = {};
};

// m x k by k x n. Operands are read with strides, so that either may be transposed, and rounded
// first: 1 to bf16, 2 to f16.
struct Product {
  int64_t m, n, k;
  int64_t row_x, column_x, row_y, column_y;
  int round;
};

// bitsandbytes' numbers of 8 bits (base/core/dynamic_map.h).
struct Map {
  float of[256];
};
// The codes of a scheme of 4 bits (engine/ops/block_schemes.h).
struct Codes {
  float of[16];
};
struct Scaled {
  int64_t n, columns, scaled;  // scaled 0: a scale for each row
};

// Attributes of the op adamw (engine/ops/adamw.cc); decay is that of one tensor.
struct AdamW {
  double beta1, beta2, eps, decay;
  bool l2, huggingface;
};

}  // namespace hone::cuda

#include "engine/backends/cuda/emulator/kernels.h"

#include "engine/graph/type.h"

// CUDA's words come before the kernels, which include nothing.
#include "engine/backends/cuda/emulator/emulate.h"

#define HONE_EMULATED
#include "engine/backends/cuda/kernels/activations.cuh"
#include "engine/backends/cuda/kernels/adafactor.cuh"
#include "engine/backends/cuda/kernels/apollo.cuh"
#include "engine/backends/cuda/kernels/attention.cuh"
#include "engine/backends/cuda/kernels/blocks.cuh"
#include "engine/backends/cuda/kernels/columns.cuh"
#include "engine/backends/cuda/kernels/conv_channels.cuh"
#include "engine/backends/cuda/kernels/conv_products.cuh"
#include "engine/backends/cuda/kernels/cross_entropy.cuh"
#include "engine/backends/cuda/kernels/elementwise.cuh"
#include "engine/backends/cuda/kernels/few_rows.cuh"
#include "engine/backends/cuda/kernels/flash_attention.cuh"
#include "engine/backends/cuda/kernels/gated_delta.cuh"
#include "engine/backends/cuda/kernels/groups.cuh"
#include "engine/backends/cuda/kernels/lamb.cuh"
#include "engine/backends/cuda/kernels/moves.cuh"
#include "engine/backends/cuda/kernels/norms.cuh"
#include "engine/backends/cuda/kernels/paged_attention.cuh"
#include "engine/backends/cuda/kernels/pools.cuh"
#include "engine/backends/cuda/kernels/products.cuh"
#include "engine/backends/cuda/kernels/random.cuh"
#include "engine/backends/cuda/kernels/ranks.cuh"
#include "engine/backends/cuda/kernels/rows.cuh"
#include "engine/backends/cuda/kernels/sums.cuh"
#include "engine/backends/cuda/kernels/update.cuh"
#include "engine/backends/cuda/kernels/warp_attention.cuh"

namespace hone::cuda {

void add_emulated_kernels() {}

}  // namespace hone::cuda

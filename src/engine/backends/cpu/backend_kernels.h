// Internal to the backend: functions that make the kernel of a node, by the node's op.
#pragma once

#include <functional>

#include "engine/backends/cpu/isa/element.h"
#include "engine/device/backend.h"

namespace hone::cpu {

// An Error kDeclined (H1401) with the op's name and the reason.
Error declined(const NodeView& n, const std::string& why);

// Makes kernels for nodes of one op.
struct Maker {
  std::string_view op;
  // Makes the node's kernel for this number of threads. kDeclined: it does not support the node's types or attributes.
  std::function<Result<Kernel>(const NodeView& n, int threads)> make;
};
using Makers = std::vector<Maker>;

// Makes a kernel for a node with operands or results in bf16 or f16. `make` makes the f32 kernel of the same node;
// operands are widened to f32 before it, and results are rounded after it. A 16-bit operand of a matrix product is not
// widened if the product rounds its operands to that type anyway. The activation of a product is computed from the
// product as rounded to 16 bits.
Result<Kernel> through_f32(const NodeView& n, int threads,
                           Result<Kernel> (*make)(const NodeView& n, int threads));

// The element type of a matrix product's operand: f32, or the type that the product rounds its operands to (attributes
// `bf16`, `f16`). kDeclined: another type.
Result<Element> rounded_operand(const NodeView& n, size_t operand);

Result<Kernel> gather_blocks(const NodeView& n);  // embedding from a quantized table

// The makers of each kind of op. The backend asks the makers of a node's op, in the order of matrix_makers(),
// attention_makers(), disentangled_makers(), image_makers(), row_makers(), group_makers(), grouped_makers(),
// update_makers(), recurrent_makers(), loop_makers(). It takes the kernel of the first one that does not decline.
Makers recurrent_makers();     // causal convolutions and gated delta rules
Makers matrix_makers();        // linear, dequantize, matmul, linear_cross_entropy
Makers attention_makers();     // attention, its gradient, the cache
Makers disentangled_makers();  // disentangled_attention, its gradient
Makers image_makers();         // convolutions, batch norms, pools
Makers row_makers();           // norms, rope, embedding, activations, dropout, masks
Makers group_makers();         // softmax, top_k, group_rows, combine_rows
Makers grouped_makers();       // grouped_matmul, grouped_blocks, grouped_outer
Makers update_makers();        // optimizers, sum_squares
Makers loop_makers();          // primitives over any element type

}  // namespace hone::cpu

// Internal to the backend: its table, from an op to the function that makes a kernel for a node.
#pragma once

#include <functional>

#include "engine/backends/cpu/isa/element.h"
#include "engine/device/backend.h"

namespace hone::cpu {

Error declined(const NodeView& n, const std::string& why);

// A kernel for a node of `op`, for this number of threads; kDeclined where it cannot serve the
// node's types or attributes.
struct Maker {
  std::string_view op;
  std::function<Result<Kernel>(const NodeView& n, int threads)> make;
};
using Makers = std::vector<Maker>;

// Makes a kernel for a node whose operands or results are kept in 16 bits from one for the same node
// in f32, by `make`: between a cast of each operand and each result. Operands that a product rounds
// are read as they are kept. An activation within a product is applied to what is kept.
Result<Kernel> through_f32(const NodeView& n, int threads,
                           Result<Kernel> (*make)(const NodeView& n, int threads));

// The form of a product's operand, which may be kept in the type that it is rounded to.
Result<Element> rounded_operand(const NodeView& n, size_t operand);

Result<Kernel> gather_blocks(const NodeView& n);  // embedding of a table in blocks

// For an op that two lists name, the earlier list is asked first.
Makers recurrent_makers();     // filters and states along a text
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

// The functions that write hone's ops as StableHLO. Each appends the operations of a node and returns the
// node's results. write_<kind>.cc has the functions of one kind of ops.
#pragma once

#include <map>
#include <string>

#include "engine/backends/xla/writer.h"
#include "engine/graph/op.h"

namespace hone::xla {

// in: the operands by number; the name of an absent operand is "".
using WriteOp = Refs (*)(Writer& w, const NodeView& n, const Refs& in);
using WriteTable = std::map<std::string, WriteOp, std::less<>>;

const WriteTable& write_table();  // by the op's name
WriteOp writer_of(const Op& op);  // null: the op has no function
// Whether the node can be written. False for ops without a function, and for some nodes of ops that have one:
// attention over pages, and the gradient of max pools whose windows have gaps. Such nodes are decomposed.
bool writes(const NodeView& n);
// Whether element i of the results depends on element i of the operands alone. True for constants.
bool is_elementwise(const Op& op);

// Each add_ function adds the ops of one kind to the table. The writes_ functions are parts of writes().
void add_elementwise(WriteTable& t);
void add_shapes(WriteTable& t);
void add_sums(WriteTable& t);
void add_random(WriteTable& t);
void add_codes(WriteTable& t);
void add_blocks(WriteTable& t);
void add_groups(WriteTable& t);
void add_recurrent(WriteTable& t);
void add_attention(WriteTable& t);
bool writes_attention(const NodeView& n);
void add_collectives(WriteTable& t);
// Tensor i of a node all_reduce, reduce_scatter or all_gather, from its operand i.
Ref write_tensor(Writer& w, const NodeView& n, size_t i, const Ref& x);
void add_convolutions(WriteTable& t);
void add_pools(WriteTable& t);
bool writes_max_pool2d_grad(const NodeView& n);

// StableHLO's name for the element type of result `k`.
inline std::string element_of_result(const NodeView& n, size_t k = 0) {
  return element_of(n.out(k).dtype);
}

// The operand x of a matrix product, rounded to bf16 if the node's attribute `bf16` is set, to f16 if `f16` is set.
Ref rounded_operand(Writer& w, const NodeView& n, const Ref& x);

}  // namespace hone::xla

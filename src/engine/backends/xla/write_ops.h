// The primitives of hone in StableHLO: a function for each op appends its operations and returns the
// node's results. write_<kind>.cc has the functions of a kind.
#pragma once

#include <map>
#include <string>

#include "engine/backends/xla/writer.h"
#include "engine/graph/op.h"

namespace hone::xla {

// `in` by operand; an absent one has no name.
using WriteOp = Refs (*)(Writer& w, const NodeView& n, const Refs& in);
using WriteTable = std::map<std::string, WriteOp, std::less<>>;

const WriteTable& write_table();  // by op
WriteOp writer_of(const Op& op);  // null: the op has none
// Whether the op's function writes the node: attention over pages is decomposed, and the gradient of windows with gaps.
bool writes(const NodeView& n);

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
void add_convolutions(WriteTable& t);
void add_pools(WriteTable& t);
bool writes_max_pool2d_grad(const NodeView& n);

// The type of result `k`.
inline std::string element_of_result(const NodeView& n, size_t k = 0) {
  return element_of(n.out(k).dtype);
}

// A product's operand, rounded to the type that the node's attributes name.
Ref rounded_operand(Writer& w, const NodeView& n, const Ref& x);

}  // namespace hone::xla

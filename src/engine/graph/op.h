// What an operation is. Each op is one file of engine/ops: formula, shapes and types,
// decomposition, gradient, cost, in that order.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "engine/graph/graph.h"

namespace hone {

class Builder;

// A node with the types of its operands at hand.
struct NodeView {
  const Program& program;
  const Node& node;

  size_t inputs() const { return node.in.size(); }
  bool has(size_t i) const { return i < node.in.size() && node.in[i] != kNoValue; }
  ValueId input(size_t i) const { return i < node.in.size() ? node.in[i] : kNoValue; }
  ValueId output(size_t i) const { return node.out[i]; }
  const Type& in(size_t i) const { return program.type(node.in[i]); }
  const Type& out(size_t i) const { return program.type(node.out[i]); }
  const Attrs& attrs() const { return node.attrs; }
};

struct Cost {
  double flops = 0;  // multiply and add count as two
  double bytes = 0;  // read + written when nothing is cached
};

using Types = std::vector<Type>;
using Values = std::vector<ValueId>;

struct Op {
  std::string name;

  // Checks operands and attributes; the types of the results. Errors start with the op's name and
  // show the shapes.
  Result<Types> (*infer)(const NodeView&) = nullptr;

  // Emits the same values from simpler ops. Null: a primitive, which every backend implements.
  Values (*decompose)(Builder&, const NodeView&) = nullptr;

  // Emits the gradients of the inputs from those of the outputs (kNoValue where an output's
  // gradient is zero); one entry per input, kNoValue where there is none. Null: no gradient.
  Values (*grad)(Builder&, const NodeView&, const Values& douts) = nullptr;

  Cost (*cost)(const NodeView&) = nullptr;

  // Output 0 may be written over this input's storage when that input dies here; -1: none.
  // A second pair may follow for output 1 and so on.
  std::vector<int> inplace = {};

  // Output 0 is a view of input 0 (reshape, contiguous slice): no storage of its own. The result
  // is the byte offset into the input.
  int64_t (*view_offset)(const NodeView&) = nullptr;

  // >= 0: the op can add its accumulated output onto a tensor of the same type given as this
  // extra input (beta = 1), written in place. The fuse pass turns add(acc, op(...)) into it.
  int accumulator = -1;
  int accumulated_output = 0;

  // The flags that each ask for one more result, in the order of those results, which come after
  // all others. A pass drops what nobody reads.
  std::vector<std::string> optional_results = {};

  // For ops with lists of operands: the input that output `k` may be written over, or -1.
  int (*inplace_for)(const NodeView&, size_t k) = nullptr;
};

// The output that the node's accumulator is for, or -1 where it makes none.
int accumulated_output(const Node& n);

// The inputs that output `k` of the node may be written over.
std::vector<size_t> inplace_inputs(const NodeView& n, size_t k);

class OpTable {
 public:
  explicit OpTable(std::vector<Op> ops);
  const Op* find(std::string_view name) const;
  // Every op in alphabetical order.
  std::vector<const Op*> all() const;

 private:
  std::map<std::string, Op, std::less<>> ops_;
};

}  // namespace hone

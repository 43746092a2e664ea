// The definition of an operation. Each op is one file of engine/ops: formula, shapes and types,
// decomposition, gradient, cost, in that order.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "engine/graph/graph.h"

namespace hone {

class Builder;

// A node with the types of its operands at hand. Operands and attributes are known by the names
// that the op gives them; another name is a Bug.
struct NodeView {
  const Program& program;
  const Node& node;

  size_t inputs() const { return node.in.size(); }
  bool has(size_t i) const { return i < node.in.size() && node.in[i] != kNoValue; }
  ValueId input(size_t i) const { return i < node.in.size() ? node.in[i] : kNoValue; }
  ValueId output(size_t i) const { return node.out[i]; }
  const Type& in(size_t i) const { return program.type(node.in[i]); }
  const Type& out(size_t i) const { return program.type(node.out[i]); }

  size_t slot(std::string_view operand) const;  // its number
  bool has(std::string_view operand) const { return has(slot(operand)); }
  ValueId input(std::string_view operand) const { return input(slot(operand)); }
  const Type& in(std::string_view operand) const { return in(slot(operand)); }

  // An attribute of the node, or its default.
  bool flag(std::string_view attr) const;
  int64_t integer(std::string_view attr) const;
  double real(std::string_view attr) const;
  const std::string& text(std::string_view attr) const;
  const std::vector<int64_t>& integers(std::string_view attr) const;
  const Attrs& attrs() const { return node.attrs; }
};

struct Cost {
  double flops = 0;  // multiply and add count as two
  double bytes = 0;  // read + written when nothing is cached
};

using Types = std::vector<Type>;
using Values = std::vector<ValueId>;

// Written "x"; "bias?" where it may be absent; "parts..." for a list of one or more.
struct Operand {
  Operand(const char* text);
  std::string name;
  bool optional = false, list = false;
};

struct AttrSpec {
  std::string name;
  Attr value;                             // the default; an attribute of a node has its type
  std::vector<std::string> choices = {};  // of a text; empty: any
  bool required = false;                  // then `value` only says the type
};
AttrSpec required(std::string name, Attr of_type, std::vector<std::string> choices = {});

// Result `result` may be written over this operand's storage when the operand dies here and is as
// large. `adds`: the op adds the result onto the operand (beta = 1); the fuse pass turns
// add(acc, op(...)) into it.
struct Overwrite {
  size_t result = 0;
  std::string operand;
  bool adds = false;
};

// Emits the same values from simpler ops.
struct Decomposition {
  using Emit = Values (*)(Builder&, const NodeView&);
  Decomposition(Emit e) : emit(e) {}
  Decomposition(std::string n, Emit e) : name(std::move(n)), emit(e) {}
  std::string name = "plain";
  Emit emit;
};

struct Op {
  std::string name;
  std::vector<Operand> operands = {};
  std::vector<AttrSpec> attrs = {};

  // Checks operands and attributes beyond check_node(), and returns the types of the results.
  // Errors start with the op's name and show the shapes.
  Result<Types> (*infer)(const NodeView&) = nullptr;

  // The backend picks one (Backend::decomposition); the first is the usual one. None: a primitive,
  // which every backend implements.
  std::vector<Decomposition> decompositions = {};

  // Emits the gradients of the inputs from those of the outputs (kNoValue: the gradient of that
  // output is zero). Returns one entry per input; kNoValue: it has no gradient. Null: the op has no
  // gradient.
  Values (*grad)(Builder&, const NodeView&, const Values& douts) = nullptr;

  Cost (*cost)(const NodeView&) = nullptr;

  std::vector<Overwrite> over = {};
  // For ops over lists of tensors: the input that result `k` may be written over, or -1.
  int (*over_in_lists)(const NodeView&, size_t k) = nullptr;

  // Output 0 is a view of input 0 (reshape, contiguous slice): no storage of its own. The result
  // is the byte offset into the input.
  int64_t (*view_offset)(const NodeView&) = nullptr;

  // The flags that each add one result, in the order of these results, which follow all others. A
  // pass removes the results that are not read.
  std::vector<std::string> optional_results = {};

  // Traits that passes use.
  // A matrix product of its two first operands, which attribute bf16 rounds. A weight is operand
  // kWeightOperand.
  bool product = false;
  static constexpr size_t kWeightOperand = 1;
  // The operand that may be a weight kept in bf16, which the op reads as it is. An op with operand `scales` reads
  // one in i8 too; an op with attribute dtype names the type of its result there.
  std::optional<size_t> stored_weight = {};
  bool activation = false;  // elementwise on one operand; the name is a choice of linear's `act`
  bool sum = false;         // adds its two operands
  // Its result is `payload` as floats; an op with attribute `scheme` takes the operands of both.
  bool widens = false;
  // Its only result has the bits of its only operand. copies: the result is in the space that
  // attribute `to` names, once a node with `waits` is done, whose result is a view of it.
  bool copies = false, waits = false;
  // Works on the lane comm, with the same node of every other rank: the bytes that this rank sends.
  int64_t (*traffic)(const NodeView&) = nullptr;
  bool gathers =
      false;  // such an op: result i is operand i of all ranks together, and has its bits
  std::optional<double> neutral = {};  // f(x, neutral) = f(neutral, x) = x, bit for bit

  const AttrSpec* attr(std::string_view attr_name) const;  // nullptr when it has none of this name
  bool takes(std::string_view operand) const;
  const Overwrite* accumulator() const;  // the one that adds, or nullptr
};

// The number of an operand in a node of this number of inputs; a name the op does not know is a
// Bug.
size_t slot_of(const Op& op, std::string_view operand, size_t inputs);

// Checks that the operands are complete and no others are there; that the attributes are known and
// of the right type, and that the required ones are there. Error H1003 names the first that is not.
Status check_node(const NodeView& n);

// The space of result `k` of a node. On the lane host_compute: the space of the operand that it may
// overwrite, or the host if there is none.
Space result_space(const NodeView& n, size_t k);

// Whether the node only starts at its place in the list, and is done at a wait for a result.
inline bool is_begun(const Node& n) {
  return n.op->copies || n.lane == Lane::host_compute || n.lane == Lane::comm;
}
// Whether the node waits for a collective.
inline bool waits_for_ranks(const Program& p, const Node& n) {
  if (!n.op->waits) return false;
  const int32_t begun = p.values[static_cast<size_t>(n.in[0])].node;
  return begun >= 0 && p.nodes[static_cast<size_t>(begun)].lane == Lane::comm;
}

// Whether the node applies an activation and has the activation's operand as its second result: the
// first result then has the bits of the op of that name applied to the second.
bool keeps_what_it_activates(const Node& n);

// The output that the node's accumulator is for, or -1 where it makes none.
int accumulated_output(const Node& n);

// Numbers of operands, a few.
class OperandList {
 public:
  void push_back(size_t operand) {
    HONE_BUG_IF(size_ == of_.size(), "a result may be written over too many operands");
    of_[size_++] = operand;
  }
  const size_t* begin() const { return of_.data(); }
  const size_t* end() const { return of_.data() + size_; }

 private:
  std::array<size_t, 6> of_{};
  size_t size_ = 0;
};

// The inputs that output `k` of the node may be written over.
OperandList inplace_inputs(const NodeView& n, size_t k);

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

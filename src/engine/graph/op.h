// The definition of an operation (op). Each op is one file of engine/ops, which has its formula, shapes and types,
// decomposition, gradient and cost, in that order.
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

// A node and its program, to read the node's operands, results and attributes. Operands are read by index or by the
// name that the op gives them, attributes by name. A name that the op does not define is a Bug.
struct NodeView {
  const Program& program;
  const Node& node;

  size_t inputs() const { return node.in.size(); }
  bool has(size_t i) const { return i < node.in.size() && node.in[i] != kNoValue; }
  ValueId input(size_t i) const { return i < node.in.size() ? node.in[i] : kNoValue; }
  ValueId output(size_t i) const { return node.out[i]; }
  const Type& in(size_t i) const { return program.type(node.in[i]); }
  const Type& out(size_t i) const { return program.type(node.out[i]); }

  // The operand's index in node.in; for a list, the index of its first tensor.
  size_t slot(std::string_view operand) const;
  bool has(std::string_view operand) const { return has(slot(operand)); }
  ValueId input(std::string_view operand) const { return input(slot(operand)); }
  const Type& in(std::string_view operand) const { return in(slot(operand)); }

  // The value of an attribute, or the op's default. real() also reads an integer; any other type is a Bug.
  bool flag(std::string_view attr) const;
  int64_t integer(std::string_view attr) const;
  double real(std::string_view attr) const;
  const std::string& text(std::string_view attr) const;
  const std::vector<int64_t>& integers(std::string_view attr) const;
  const Attrs& attrs() const { return node.attrs; }
};

struct Cost {
  double flops = 0;  // a multiplication and an addition count as two
  double bytes = 0;  // bytes read and written if nothing is cached
};

using Types = std::vector<Type>;
using Values = std::vector<ValueId>;

// An operand of an op. The text is its name: "x"; "bias?": may be absent; "parts...": a list of one or more.
struct Operand {
  Operand(const char* text);
  std::string name;
  bool optional = false, list = false;
};

struct AttrSpec {
  std::string name;
  Attr value;                             // the default; a node's attribute has the same type
  std::vector<std::string> choices = {};  // the allowed values of a string attribute; empty: any
  bool required = false;                  // every node sets it; `value` then only gives the type
};
// A required attribute; only the type of `of_type` counts.
AttrSpec required(std::string name, Attr of_type, std::vector<std::string> choices = {});

// Result number `result` may be written over the operand's storage if no later node reads the operand and both have
// the same size. `adds`: the operand is an accumulator, to which the op adds the result (beta = 1 of BLAS); the pass
// fuse (passes/fuse.h) turns add(acc, op(...)) into such a node.
struct Overwrite {
  size_t result = 0;
  std::string operand;
  bool adds = false;
};

// A way to compute an op by simpler ops: emits them and returns the values of the op's results.
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
  // Its errors (H1203 in engine/ops) start with the op's name and show the types of the operands.
  Result<Types> (*infer)(const NodeView&) = nullptr;

  // The ways to compute the op by simpler ops. The backend picks one (Backend::decomposition); the first
  // is the default. Empty: the op is a primitive, which every backend implements.
  std::vector<Decomposition> decompositions = {};

  // Emits the gradients of the operands. `douts` has the gradient of each result; kNoValue: it is zero. Returns one
  // entry for each operand; kNoValue: the operand has no gradient. A null function: the op has no gradient.
  Values (*grad)(Builder&, const NodeView&, const Values& douts) = nullptr;

  // The cost of the node. Null: cost_of() (ops/cost.h) counts an elementwise op.
  Cost (*cost)(const NodeView&) = nullptr;

  // The operands that the results may be written over.
  std::vector<Overwrite> over = {};
  // For ops over lists of tensors: the index of the operand that result `k` may be written over; -1: none.
  int (*over_in_lists)(const NodeView&, size_t k) = nullptr;

  // Result 0 may be a view of operand 0 (reshape, contiguous slice), with no storage of its own. Returns the view's
  // byte offset in operand 0; -1: this node is not a view. Null: no node of the op is a view.
  int64_t (*view_offset)(const NodeView&) = nullptr;

  // Names of bool attributes. Each one that is true adds one result. These results come after all others, in the
  // order of this list. The pass simplify removes the ones that nothing reads.
  std::vector<std::string> optional_results = {};

  // Traits that passes use.
  // True: a matrix product of its first two operands; attribute bf16 or f16 rounds both to that type first. If one of
  // them is a weight, it is operand kWeightOperand.
  bool product = false;
  static constexpr size_t kWeightOperand = 1;
  // Index of the operand that may be a weight stored in bf16, which the op reads without a cast. If the op has an
  // operand `scales`, the weight may also be stored in i8. If the op has an attribute `dtype`, a node that reads a
  // stored weight gives the type of its result in `dtype`.
  std::optional<size_t> stored_weight = {};
  bool activation = false;  // elementwise on one operand; its name is a choice of linear's `act`
  bool sum = false;         // adds its two operands
  // True: the op dequantizes its operand `payload` to floats. An op that reads the floats and has an attribute `scheme`
  // can dequantize itself: it then takes the operands of both nodes (passes/fuse.h).
  bool widens = false;
  // An op with `copies` starts a copy of its only operand to the space that attribute `to` names. An op with `waits`
  // waits until its only operand is complete; its result is a view of the operand.
  bool copies = false, waits = false;
  // Non-null: a collective, which runs on the lane comm together with the same node of every other rank. Returns the
  // bytes that this rank sends.
  int64_t (*traffic)(const NodeView&) = nullptr;
  // True: a collective whose result i joins the rows of operand i of all ranks, unchanged.
  bool gathers = false;
  std::optional<double> neutral = {};  // f(x, neutral) = f(neutral, x) = x, bit for bit

  const AttrSpec* attr(std::string_view attr_name) const;  // null: the op has no such attribute
  bool takes(std::string_view operand) const;              // whether it has such an operand
  const Overwrite* accumulator() const;  // the entry of `over` with `adds`, or null
};

// The index of an operand in a node with `inputs` operands; for a list, the index of its first tensor. A name that the
// op does not define is a Bug.
size_t slot_of(const Op& op, std::string_view operand, size_t inputs);

// Checks that the node has all required operands and no others, that its attributes are known and of the right
// type, and that the required attributes are given. H1003 names the first operand or attribute that is wrong.
Status check_node(const NodeView& n);

// The space of result `k` of a node: for a copy its attribute `to`, for a wait its operand's space, else the device.
// On the lane host_compute: the space of the operand that the result may overwrite; the host if there is none.
Space result_space(const NodeView& n, size_t k);

// Whether the node is asynchronous: its work starts at its place in the list, and is complete after the first wait
// for one of its results.
inline bool is_begun(const Node& n) {
  return n.op->copies || n.lane == Lane::host_compute || n.lane == Lane::comm;
}
// Whether the node is a wait for the result of a collective.
inline bool waits_for_ranks(const Program& p, const Node& n) {
  if (!n.op->waits) return false;
  const int32_t begun = p.values[static_cast<size_t>(n.in[0])].node;
  return begun >= 0 && p.nodes[static_cast<size_t>(begun)].lane == Lane::comm;
}

// Whether the node applies an activation (attribute act) and returns the activation's operand as its second result
// (attribute save_pre), without a residual. The first result then is activation(second result), bit for bit.
bool keeps_what_it_activates(const Node& n);

// Index of the result that is added to the node's accumulator; -1: the op has no accumulator, or the node does not
// make that result.
int accumulated_output(const Node& n);

// A short list of indices of operands; too many are a Bug.
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

// The operands that result `k` of the node may be written over; absent ones are left out.
OperandList inplace_inputs(const NodeView& n, size_t k);

class OpTable {
 public:
  explicit OpTable(std::vector<Op> ops);        // two ops of one name are a Bug
  const Op* find(std::string_view name) const;  // null: no op has the name
  // All ops, in alphabetical order.
  std::vector<const Op*> all() const;

 private:
  std::map<std::string, Op, std::less<>> ops_;
};

}  // namespace hone

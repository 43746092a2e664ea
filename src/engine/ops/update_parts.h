// Shared parts of the optimizer ops (update ops), such as adamw. An op takes lists of `count` tensors and updates all:
//   op(p..., g..., states..., lr, step, g_scale) -> p'..., states'...
//   p        parameters
//   g        gradients, of the parameters' shapes; the op multiplies them by g_scale first (gradient clipping)
//   states   the optimizer's states: a list of `count` tensors for each state, one list after another
//   lr       f64[], the learning rate
//   step     i64[], 1 for the first step
//   g_scale  f64[]. If it is not finite, each result equals its operand: a step with overflowed gradients
//            changes nothing.
// p' overwrites p and states' overwrite states. States are zero before the first step, unless the op's file says
// otherwise.
// Attribute decay has a 0 or 1 for each tensor: whether attribute weight_decay applies to it. Empty: it applies to all.
// Ops compute in f32 (f64 for f64) and round to nearest at the end; a bf16 tensor has bf16 states.
//
// An op that updates each element independently (elementwise_update_op) has more attributes:
//   rows=[first, end]    count is 1. Only rows [first, end) of the tensor's first axis are updated, and the states
//                        have only these rows. The other rows of p' equal p's.
//   round_keys=[k, ...]  a key for each tensor: p' in bf16 is rounded stochastically (round_stochastic.cc), as by
//                        torchao's AdamW with bf16_stochastic_round. Empty: p' is rounded to nearest.
// An op whose states also have p's type (copied_update_op) has three more:
//   copied=[i, ...]      p' of tensor i is returned a second time, rounded to type copied_as, after all other results
//   copied_as            "bf16" or "f16"
//   halves=[i, ...]      p and p' of tensor i, which is f32, are in split form (engine/graph/halves.h). The numbers
//                        are the same, bit for bit, as without the attribute.
#pragma once

#include "engine/ops/support.h"

namespace hone {

// Op::infer of an update op with `lists` lists of states, whose tensors have the types of p, or of p's updated rows.
// Returns the types of p'..., states'... and of the copies. H1203: operands or attributes do not fit.
Result<Types> infer_update(const NodeView& n, size_t lists);
// Op::infer of an update op whose states have types that differ from p's. `states` returns the types of all states in
// the order of the operands; it may read the node's p and g. Returns the types of p'..., states'.... H1203 as above.
Result<Types> infer_update(const NodeView& n, Types (*states)(const NodeView&));
// The type of the updated part of tensor i: the whole tensor, or the rows of attribute rows.
Type updated_part(const NodeView& n, size_t i);
// Attribute copied; empty if the op does not have it.
std::vector<int64_t> copied_tensors(const NodeView& n);
// Attribute halves; empty if the op does not have it.
std::vector<int64_t> halved_tensors(const NodeView& n);
// Attribute weight_decay if it applies to tensor i, else 0.
double weight_decay_of(const NodeView& n, size_t i);
// The types of states that are quantized to 8 bits (quantize_dynamic.cc), for `moments` moments: codes of moment 0 for
// all tensors, absmax of moment 0 for all tensors, codes of moment 1 for all tensors, and so on. Codes are u8 of the
// shape of the updated part. absmax has one number for each kDynamicBlock elements: f64 if p is f64, else f32.
Types states_8bit(const NodeView& n, size_t moments);
// The definition of an optimizer op, without a gradient. `attrs` are the optimizer's own attributes; count, decay and
// weight_decay are added.
Op update_op(std::string name, std::vector<AttrSpec> attrs, decltype(Op::infer) infer,
             Decomposition::Emit decompose, decltype(Op::cost) cost);
// update_op() for an optimizer that updates each element independently; adds the attributes rows and round_keys.
Op elementwise_update_op(std::string name, std::vector<AttrSpec> attrs, decltype(Op::infer) infer,
                         Decomposition::Emit decompose, decltype(Op::cost) cost);
// elementwise_update_op() with the attributes copied, copied_as and halves. `infer` must call infer_update(n, lists).
Op copied_update_op(std::string name, std::vector<AttrSpec> attrs, decltype(Op::infer) infer,
                    Decomposition::Emit decompose, decltype(Op::cost) cost);
// The cost of an update op that does `flops_per_element` for each updated element of p.
Cost update_cost(const NodeView& n, double flops_per_element);

// Builds the decomposition of an update op, one tensor after another. i: index of a tensor.
class UpdateParts {
 public:
  UpdateParts(Builder& b, const NodeView& n);

  size_t count() const { return count_; }  // of tensors
  // The updated part of parameter i; a two-byte type is widened to f32.
  ValueId p(size_t i) { return widened(rows_of(weight(i))); }
  // State number `list` of tensor i; a two-byte type is widened to f32.
  ValueId state(size_t list, size_t i) { return widened(n_.input((2 + list) * count_ + i)); }
  ValueId lr() const { return n_.input("lr"); }  // f64[]
  ValueId step() const { return step_; }         // cast to f64[]
  double attr(const std::string& name) const { return n_.real(name); }
  double decay(size_t i) const;              // weight_decay_of() tensor i
  ValueId gradient(size_t i);                // g * g_scale, in the type of p(i)
  ValueId gradient_l2(size_t i);             // gradient(i) + decay(i) * p(i)
  ValueId shrunk(size_t i, ValueId x);       // x * (1 - lr * decay(i))
  ValueId one_minus_power(double base);      // 1 - base^step, f64[]
  ValueId scaled(ValueId x, double factor);  // x * factor
  ValueId times(ValueId x, ValueId scalar);  // x * scalar; the scalar is cast to x's type
  ValueId mix(ValueId old, double keep, ValueId fresh, double take);  // keep * old + take * fresh
  ValueId plus(ValueId x, double addend);
  ValueId sign(ValueId x);  // -1, 0 or 1
  // The direction of SGD's step (sgd.cc) for tensor i: p' = p - lr * direction. `g` is the gradient. Reads the
  // attributes momentum, dampening and nesterov. State 0 is the momentum buffer; its new version is appended to
  // `buffers`. Momentum 0: returns g.
  ValueId with_momentum(size_t i, ValueId g, Values& buffers);
  // AdamW's change of p, which is subtracted: step_size m / (sqrt(v) / root + eps). step_size and root are scalars,
  // usually lr / (1 - beta1^step) and sqrt(1 - beta2^step).
  ValueId adam_change(ValueId m, ValueId v, ValueId step_size, ValueId root);
  // The op's results. `lists` has the new p of all tensors, then a list of new tensors for each state. They are rounded
  // to the operands' types. If g_scale is not finite, the results are the old values.
  Values results(const std::vector<Values>& lists);

 private:
  ValueId weight(size_t i);                      // parameter i, joined if it is in split form
  ValueId rows_of(ValueId tensor);               // the rows to update
  ValueId with_rows(ValueId tensor, ValueId x);  // the tensor with x in place of the rows to update
  ValueId widened(ValueId x);
  ValueId rounded_as(ValueId x, size_t result);  // x rounded to the type of that result
  Builder& b_;
  const NodeView& n_;
  size_t count_;
  std::vector<int64_t> rows_;    // attribute rows: [first, end]; empty: all
  std::vector<int64_t> halved_;  // attribute halves
  std::vector<int64_t> keys_;    // attribute round_keys
  ValueId step_;
  ValueId fresh_ = kNoValue;  // with_momentum()'s factor of g: 1 in step 1, then 1 - dampening
};

}  // namespace hone

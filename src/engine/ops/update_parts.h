// Shared parts of the optimizer ops. Each takes lists of `count` tensors and updates all of them:
//   op(p..., g..., states..., lr, step, g_scale) -> p'..., states'...
// p parameters; g gradients of their shapes, multiplied by g_scale first (clipping); states: the
// rule's values for each tensor, zero before the first step, one list after another; lr f64[], step
// i64[] (1 for the first), g_scale f64[]. Every result overwrites its operand; if g_scale is not
// finite, it equals its operand: a step with overflowed gradients changes nothing.
// Attribute decay[i] says whether weight_decay is for tensor i; an empty list means all.
// A tensor in bf16 has its states in bf16 too; everything is computed in f32 and rounded to nearest
// at the end.
// A rule for each element by itself also takes rows=[first, end]: it updates these rows of the
// first axis of its one tensor, and its states have only these rows; p' has the other rows of p. It
// also takes round_keys, one for each tensor, to round p' in bf16 at random (round_stochastic.cc),
// like torchao's AdamW with bf16_stochastic_round. A rule whose states have p's type also takes
// copied=[i, ...] and copied_as: p' of these tensors, rounded to that type, are more results; and
// halves=[i, ...]: these tensors, f32, are kept as halves (halves.cc), old and new. The bits of their numbers are those
// that they have without it.
#pragma once

#include "engine/ops/support.h"

namespace hone {

// `lists` lists of states of the types of p, or of its rows. Result types p..., states....
Result<Types> infer_update(const NodeView& n, size_t lists);
// Infers the result types of an update whose states have other types than p: `states` returns all
// of them, in their order, given p and g.
Result<Types> infer_update(const NodeView& n, Types (*states)(const NodeView&));
// The type of the updated part of tensor i: the whole tensor, or the rows of attribute rows.
Type updated_part(const NodeView& n, size_t i);
// Attribute copied; empty: no p' is copied, as by ops without it.
std::vector<int64_t> copied_tensors(const NodeView& n);
// Attribute halves; empty: no tensor is kept as halves.
std::vector<int64_t> halved_tensors(const NodeView& n);
// weight_decay where attribute decay has it for tensor i, else 0.
double weight_decay_of(const NodeView& n, size_t i);
// States that are 8-bit codes: for each of `moments` the list of codes, then that of absmax.
Types states_8bit(const NodeView& n, size_t moments);
// An optimizer op: no gradient, result k overwrites its operand.
// `attrs`: the rule's own, beside count, decay and weight_decay.
Op update_op(std::string name, std::vector<AttrSpec> attrs, decltype(Op::infer) infer,
             Decomposition::Emit decompose, decltype(Op::cost) cost);
// An optimizer op whose rule works on each element by itself. It also has the attributes rows and
// round_keys.
Op elementwise_update_op(std::string name, std::vector<AttrSpec> attrs, decltype(Op::infer) infer,
                         Decomposition::Emit decompose, decltype(Op::cost) cost);
// The same with the attributes copied, copied_as and halves, for `infer` by infer_update(n, lists).
Op copied_update_op(std::string name, std::vector<AttrSpec> attrs, decltype(Op::infer) infer,
                    Decomposition::Emit decompose, decltype(Op::cost) cost);
Cost update_cost(const NodeView& n, double flops_per_element);

// Builds the decomposition; one tensor after another.
class UpdateParts {
 public:
  UpdateParts(Builder& b, const NodeView& n);

  size_t count() const { return count_; }
  // Those in two bytes are widened to f32.
  ValueId p(size_t i) { return widened(rows_of(weight(i))); }
  ValueId state(size_t list, size_t i) { return widened(n_.input((2 + list) * count_ + i)); }
  ValueId lr() const { return n_.input("lr"); }  // f64[]
  ValueId step() const { return step_; }         // f64[]
  double attr(const std::string& name) const { return n_.real(name); }
  double decay(size_t i) const;              // weight_decay or 0
  ValueId gradient(size_t i);                // g * g_scale in the type of p(i)
  ValueId gradient_l2(size_t i);             // + decay * p
  ValueId shrunk(size_t i, ValueId x);       // x * (1 - lr decay)
  ValueId one_minus_power(double base);      // 1 - base^step, f64[]
  ValueId scaled(ValueId x, double factor);  // x * factor
  ValueId times(ValueId x, ValueId scalar);  // scalar f64[] in x's type
  ValueId mix(ValueId old, double keep, ValueId fresh, double take);  // keep old + take fresh
  ValueId plus(ValueId x, double addend);
  ValueId sign(ValueId x);  // -1, 0 or 1
  // SGD's change of p(i) (sgd.cc), given the gradient, with attributes momentum, dampening and nesterov; state 0 is
  // the buffer, whose new version goes to `buffers`. Without momentum g itself.
  ValueId with_momentum(size_t i, ValueId g, Values& buffers);
  // step_size m / (sqrt(v) / root + eps): AdamW's change of p.
  ValueId adam_change(ValueId m, ValueId v, ValueId step_size, ValueId root);
  // The results, given the new p and states, with the rule for a g_scale that is not finite.
  Values results(const std::vector<Values>& lists);

 private:
  ValueId weight(size_t i);                      // its numbers
  ValueId rows_of(ValueId tensor);               // those to be updated
  ValueId with_rows(ValueId tensor, ValueId x);  // x in their place
  ValueId widened(ValueId x);
  ValueId rounded_as(ValueId x, size_t result);  // as what it overwrites
  Builder& b_;
  const NodeView& n_;
  size_t count_;
  std::vector<int64_t> rows_;    // that are updated; empty: all
  std::vector<int64_t> halved_;  // that are kept as halves
  std::vector<int64_t> keys_;    // by weight; empty: p' is rounded to the nearest
  ValueId step_;
  ValueId fresh_ = kNoValue;  // with_momentum's share of the gradient
};

}  // namespace hone

#include "learn/tasks/rerank_loss.h"

namespace hone {
namespace {

ValueId real(Builder& b, double value) { return ops::constant(b, value, {DType::f32, {}}); }

ValueId weighted_sum(Builder& b, ValueId values, const RerankLossInputs& in) {
  return ops::mul(b, ops::reduce_sum(b, ops::mul(b, values, in.weight), {0}), in.scale);
}

// (1 - y) x + (1 + (w - 1) y) (log(1 + exp(-|x|)) + max(-x, 0)), as torch's BCEWithLogitsLoss.
ValueId binary_cross_entropy(Builder& b, ValueId x, ValueId y, double pos_weight) {
  const ValueId none = real(b, 0), one = real(b, 1), negative = ops::neg(b, x);
  const ValueId small = ops::exp(b, ops::minimum(b, x, negative));  // exp(-|x|)
  const ValueId log_part =
      ops::add(b, ops::log(b, ops::add(b, small, one)), ops::maximum(b, negative, none));
  const ValueId factor =
      pos_weight == 1
          ? log_part
          : ops::mul(b, log_part, ops::add(b, ops::mul(b, y, real(b, pos_weight - 1)), one));
  return ops::add(b, ops::mul(b, ops::sub(b, one, y), x), factor);
}

ValueId margin_squares(Builder& b, ValueId logits, const RerankLossInputs& in) {
  const int64_t rows = b.type(in.weight).shape[0], texts = in.texts;
  const Shape margins{rows, texts - 1};
  const auto less_than_first = [&](ValueId x) {  // [R, texts] -> [R, texts - 1]
    const ValueId first = ops::reshape(b, ops::slice(b, x, 1, 0, 1), {rows});
    return ops::sub(b, ops::broadcast(b, first, margins, {0}), ops::slice(b, x, 1, 1, texts));
  };
  const ValueId wanted = in.labels_of_row == texts
                             ? less_than_first(ops::reshape(b, in.labels, {rows, texts}))
                             : ops::reshape(b, in.labels, margins);
  const ValueId off = ops::sub(b, less_than_first(ops::reshape(b, logits, {rows, texts})), wanted);
  return ops::mul(b, ops::reduce_sum(b, ops::mul(b, off, off), {1}),
                  real(b, 1 / static_cast<double>(texts - 1)));
}

}  // namespace

ValueId rerank_loss(Builder& b, const std::string& loss, const RerankLossInputs& in,
                    double pos_weight) {
  const int64_t rows = b.type(in.weight).shape[0];
  if (loss == "CrossEntropyLoss") {
    const ValueId there = ops::compare(b, in.weight, real(b, 0.5), "gt");
    const ValueId labels = ops::select(b, there, ops::cast(b, in.labels, DType::i32),
                                       ops::constant(b, -100, {DType::i32, {}}));
    return cross_entropy_of(b, in.layer, labels, in.scale, true).loss;
  }
  const ValueId logits = ops::reshape(b, logits_of(b, in.layer), {rows * in.texts});
  if (loss == "MarginMSELoss") return weighted_sum(b, margin_squares(b, logits, in), in);
  if (loss == "BinaryCrossEntropyLoss")
    return weighted_sum(b, binary_cross_entropy(b, logits, in.labels, pos_weight), in);
  HONE_BUG_IF(loss != "MSELoss", "there is no loss '{}' of rerankers", loss);
  const ValueId off = ops::sub(b, logits, in.labels);
  return weighted_sum(b, ops::mul(b, off, off), in);
}

}  // namespace hone

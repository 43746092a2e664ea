#include "learn/tasks/image_loss.h"

namespace hone {

ValueId binary_cross_entropy(Builder& b, ValueId logits, ValueId shares, ValueId scale,
                             const BinaryLossOptions& options) {
  const Shape shape = b.type(logits).shape;
  const auto number = [&](double v) { return ops::constant(b, v, {DType::f32, {}}); };
  const ValueId counts = ops::compare(b, ops::reduce_sum(b, shares, {1}), number(0), "gt");
  if (options.threshold > 0)
    shares = ops::select(b, ops::compare(b, shares, number(options.threshold), "gt"), number(1),
                         number(0));
  // log(1 + exp(x)) - t x, where no exponential is above 1; the gradient by `most` is 0.
  const ValueId most = ops::relu(b, logits);
  const ValueId soft = ops::add(b, most,
                                ops::log(b, ops::add(b, ops::exp(b, ops::sub(b, logits, most)),
                                                     ops::exp(b, ops::neg(b, most)))));
  const ValueId each = ops::reduce_sum(b, ops::sub(b, soft, ops::mul(b, shares, logits)), {1});
  const double share = options.sums ? 1 : 1 / static_cast<double>(shape[1]);
  const ValueId of_image = ops::mul(b, ops::select(b, counts, each, number(0)), number(share));
  return ops::mul(b, scale, ops::reduce_sum(b, of_image, {0}));
}

}  // namespace hone

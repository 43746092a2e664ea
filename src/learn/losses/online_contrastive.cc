// OnlineContrastiveLoss: of pairs with label 1 those farther apart than the nearest pair with label 0, and of pairs
// with label 0 those nearer than the farthest pair with label 1: the sum of d^2 and of max(0, margin - d)^2. If a
// batch lacks one of the labels, the mean distance of the other takes its place.
#include "learn/losses/similarity.h"
#include "learn/losses/text_loss.h"

namespace hone {
namespace {

constexpr double kLeastApart = 1e-6, kFar = 1e30;

ValueId online_contrastive_loss(Builder& b, const TextLossInputs& in, const TextLossOptions& o) {
  const ValueId d = distance_of_rows(b, in.columns[0], in.columns[1], o.distance, kLeastApart);
  const ValueId there = ops::compare(b, in.weight, scalar(b, 0.5), "gt");
  struct Group {
    ValueId is, number, mean, any;
  };
  const auto group = [&](double label) {
    Group g{};
    g.is = ops::minimum(b, there, ops::compare(b, in.labels, scalar(b, label), "eq"));
    const ValueId one = ops::cast(b, g.is, DType::f32);
    g.number = ops::reduce_sum(b, one, {0});
    g.mean = ops::div(b, ops::reduce_sum(b, ops::mul(b, d, one), {0}),
                      ops::maximum(b, g.number, scalar(b, 1)));
    g.any = ops::compare(b, g.number, scalar(b, 0.5), "gt");
    return g;
  };
  const Group alike = group(1), other = group(0);
  const ValueId farthest = ops::reduce_max(b, ops::select(b, alike.is, d, scalar(b, -kFar)), {0});
  const ValueId nearest = ops::neg(
      b, ops::reduce_max(b, ops::select(b, other.is, ops::neg(b, d), scalar(b, -kFar)), {0}));
  const ValueId near_limit = ops::select(b, alike.any, farthest, other.mean),
                far_limit = ops::select(b, other.any, nearest, alike.mean);
  const ValueId hard_alike = ops::minimum(b, alike.is, ops::compare(b, d, far_limit, "gt")),
                hard_other = ops::minimum(b, other.is, ops::compare(b, d, near_limit, "lt"));
  const ValueId short_of = ops::relu(b, ops::sub(b, scalar(b, o.margin), d)), none = scalar(b, 0);
  const ValueId parts = ops::add(b, ops::select(b, hard_alike, ops::mul(b, d, d), none),
                                 ops::select(b, hard_other, ops::mul(b, short_of, short_of), none));
  return sum_of_rows(b, parts, in.weight, in.scale);
}

}  // namespace

TextLoss text_loss_online_contrastive() {
  return {.name = "OnlineContrastiveLoss",
          .about = "pairs with the label 1 or 0, of which the hard ones count",
          .labels = true,
          .mean = false,
          .usual_margin = 0.5,
          .build = online_contrastive_loss};
}

}  // namespace hone

// ContrastiveLoss (Hadsell et al. 2006): half the mean of label * d^2 + (1 - label) * max(0, margin - d)^2.
#include "learn/losses/similarity.h"
#include "learn/losses/text_loss.h"

namespace hone {
namespace {

constexpr double kApart = 1e-6;  // of torch.nn.functional.pairwise_distance

ValueId contrastive_loss(Builder& b, const TextLossInputs& in, const TextLossOptions& o) {
  const ValueId d = distance_of_rows(b, in.columns[0], in.columns[1], o.distance, kApart);
  const ValueId short_of = ops::relu(b, ops::sub(b, scalar(b, o.margin), d));
  const ValueId alike = ops::mul(b, in.labels, ops::mul(b, d, d)),
                other = ops::mul(b, ops::sub(b, scalar(b, 1), in.labels),
                                 ops::mul(b, short_of, short_of));
  return sum_of_rows(b, ops::mul(b, ops::add(b, alike, other), scalar(b, 0.5)), in.weight,
                     in.scale);
}

}  // namespace

TextLoss text_loss_contrastive() {
  return {.name = "ContrastiveLoss",
          .about = "pairs with the label 1 (alike) or 0",
          .labels = true,
          .usual_margin = 0.5,
          .build = contrastive_loss};
}

}  // namespace hone

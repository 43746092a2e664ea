// TripletLoss (Schroff et al. 2015, arXiv 1503.03832): the mean of max(0, distance to the positive - distance to the
// negative + margin).
#include "learn/losses/similarity.h"
#include "learn/losses/text_loss.h"

namespace hone {
namespace {

ValueId triplet_loss(Builder& b, const TextLossInputs& in, const TextLossOptions& o) {
  const auto distance = [&](size_t column) {
    return distance_of_rows(b, in.columns[0], in.columns[column], o.distance);
  };
  const ValueId apart = ops::add(b, ops::sub(b, distance(1), distance(2)), scalar(b, o.margin));
  return sum_of_rows(b, ops::relu(b, apart), in.weight, in.scale);
}

}  // namespace

TextLoss text_loss_triplet() {
  return {.name = "TripletLoss",
          .about = "triplets (anchor, positive, negative)",
          .least_columns = 3,
          .most_columns = 3,
          .usual_margin = 5,
          .usual_distance = "euclidean",
          .build = triplet_loss};
}

}  // namespace hone

// CosineSimilarityLoss: the mean of (cosine - score)^2.
#include "learn/losses/similarity.h"
#include "learn/losses/text_loss.h"

namespace hone {
namespace {

ValueId cosine_similarity_loss(Builder& b, const TextLossInputs& in, const TextLossOptions&) {
  const ValueId off = ops::sub(b, cosine_of_rows(b, in.columns[0], in.columns[1]), in.labels);
  return sum_of_rows(b, ops::mul(b, off, off), in.weight, in.scale);
}

}  // namespace

TextLoss text_loss_cosine_similarity() {
  return {.name = "CosineSimilarityLoss",
          .about = "pairs with a score: the cosine becomes the score",
          .labels = true,
          .build = cosine_similarity_loss};
}

}  // namespace hone

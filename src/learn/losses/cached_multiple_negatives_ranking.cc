// CachedMultipleNegativesRankingLoss: ranking.h; embeddings of the whole batch first, then gradients by
// mini-batches (Gao et al. 2021, arXiv 2101.06983).
#include "learn/losses/ranking.h"

namespace hone {

TextLoss text_loss_cached_multiple_negatives_ranking() {
  return {
      .name = "CachedMultipleNegativesRankingLoss",
      .about =
          "the same loss by mini-batches of mini_batch_size rows, in bounded memory (GradCache)",
      .most_columns = INT64_MAX,
      .in_batches = true,
      .build = ranking_loss};
}

}  // namespace hone

// MultipleNegativesRankingLoss: ranking.h.
#include "learn/losses/ranking.h"

namespace hone {

TextLoss text_loss_multiple_negatives_ranking() {
  return {
      .name = "MultipleNegativesRankingLoss",
      .about = "pairs (anchor, positive), or with negatives; other rows of the batch are negatives",
      .most_columns = INT64_MAX,
      .build = ranking_loss};
}

}  // namespace hone

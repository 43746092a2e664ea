#include "learn/data/batches/rank_rows.h"

#include <algorithm>

namespace hone {

void add_rows_of_rank(std::span<const int64_t> rows, int64_t batch_rows, const Share& share,
                      std::vector<int64_t>& mine) {
  const auto most = static_cast<size_t>(batch_rows);
  for (size_t at = 0; at < rows.size(); at += most) {
    const auto batch = rows.subspan(at, std::min(most, rows.size() - at));
    const RowRange own = share_rows(static_cast<int64_t>(batch.size()), share);
    mine.insert(mine.end(), batch.begin() + own.begin, batch.begin() + own.end);
  }
}

int64_t most_rows_of_rank(int64_t rows, int64_t batch_rows, int64_t ranks) {
  const auto share_of = [&](int64_t batch) { return (batch + ranks - 1) / ranks; };
  return rows / batch_rows * share_of(batch_rows) + share_of(rows % batch_rows);
}

}  // namespace hone

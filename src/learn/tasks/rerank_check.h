// The rows of rerankers, and faults of them.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/rerank_data.h"

namespace hone {

// Reads and tokenises the files as training and an evaluation do: rows that the loss cannot read,
// pairs that are cut, and the metrics that the evaluated rows give.
RowsReport check_rerank(const RerankSettings& s, const CheckRequest& request, Findings& findings);

}  // namespace hone

// Checks the rows of rerankers, for `hone check`.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/rerank_data.h"

namespace hone {

// Reads and tokenizes the files as training and an evaluation do. Adds findings for rows that the loss does not accept,
// and for pairs that are cut. RowsReport::metrics of the result has the names of the metrics of the rows to evaluate.
RowsReport check_rerank(const RerankSettings& s, const CheckRequest& request, Findings& findings);

}  // namespace hone

// Checks the rows of text embeddings, for `hone check`.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/embedding_settings.h"

namespace hone {

// Reads and tokenizes the files as training and an evaluation do. Adds findings of rows that the loss does not accept
// and of texts that are cut. RowsReport::metrics of the result has the names of the metrics of the rows to evaluate.
RowsReport check_embedding(const EmbeddingSettings& s, const CheckRequest& request,
                           Findings& findings);

}  // namespace hone

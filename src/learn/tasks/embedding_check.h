// The rows of text embeddings, and faults of them.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/embedding_settings.h"

namespace hone {

// Reads and tokenises the files as training and an evaluation do: rows that the loss cannot read,
// texts that are cut, and the metrics that the evaluated rows give.
RowsReport check_embedding(const EmbeddingSettings& s, const CheckRequest& request,
                           Findings& findings);

}  // namespace hone

// Checks the rows of classification and their labels, for `hone check`.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/classification_settings.h"

namespace hone {

// Reads and tokenizes the files as training does, and checks every row and label. Adds findings of faults of texts,
// repeated rows, equal texts with different labels, validation rows that are training rows too, labels that are
// unbalanced or have no rows, and labels that are numbers although the checkpoint names them. Needs memory for the
// tokens of all rows, and for 64-bit hashes of at most 2^20 rows.
RowsReport check_labels(const ClassificationSettings& s, const CheckRequest& request,
                        Findings& findings);

}  // namespace hone

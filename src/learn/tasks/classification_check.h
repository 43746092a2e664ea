// The rows of classification, and faults of their labels.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/classification_settings.h"

namespace hone {

// Reads and tokenises the files as training does, and looks at every row and label: faults of
// texts, copies, copies with other labels, leaks, the balance of labels, labels that the checkpoint
// names otherwise. Memory: the tokens of all rows, and
// 64-bit hashes of at most a million of them.
RowsReport check_labels(const ClassificationSettings& s, const CheckRequest& request,
                        Findings& findings);

}  // namespace hone

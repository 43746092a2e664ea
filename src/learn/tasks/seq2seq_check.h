// The rows of summarization and translation, and faults of their sources and targets.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/seq2seq_settings.h"

namespace hone {

// Reads and tokenises the files as training does, and looks at both texts of every row: faults of
// texts and of their tokens, cut rows, copies, leaks, targets without an end, targets that are
// their sources, the words that the checkpoint knows the task by. Memory: the tokens of all rows,
// and 64-bit hashes of at most a million of them.
RowsReport check_pairs(const Seq2Seq& s, const CheckRequest& request, Findings& findings);
// Settings of lengths and generation that fight each other.
void check_pair_settings(const Seq2Seq& q, const Pretrained& model, Findings& findings);

}  // namespace hone

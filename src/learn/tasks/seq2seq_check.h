// Checks the rows of summarization and translation, for `hone check`.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/seq2seq_settings.h"

namespace hone {

// Reads and tokenizes the files as training does, and checks both texts of every row. Adds findings for faults in texts
// and in their tokens, for rows that are cut, repeated rows, validation rows that are training rows too, targets
// without an end token, targets that equal their sources, and sources without the prefix by which the model knows the
// task (TaskPrefix). Needs memory for the tokens of all rows, and for 64-bit hashes of at most 2^20 rows.
RowsReport check_pairs(const Seq2Seq& s, const CheckRequest& request, Findings& findings);
// Adds findings for settings of lengths and of generation that contradict each other or the model.
void check_pair_settings(const Seq2Seq& q, const Pretrained& model, Findings& findings);

}  // namespace hone

// The rows of summarization and translation and what is the matter with their sources and targets.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/seq2seq.h"

namespace hone {

// Reads and tokenises the files as training does, and looks at both texts of every row: faults of
// texts and of their tokens, cut rows, copies, leaks, targets without an end, targets that are
// their sources, the words that the checkpoint knows the task by. `notes` gets what was read, a
// sentence each. Memory: the tokens of all rows, and 64-bit hashes of at most a million of them.
RowsReport check_pairs(const Seq2SeqSettings& s, const Pretrained& model, ThreadPool& pool,
                       int64_t samples, std::vector<std::string>& notes, Findings& findings);

}  // namespace hone

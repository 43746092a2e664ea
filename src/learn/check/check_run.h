// A run as its settings ask for it: the model's files, and settings that fight each other.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/run_programs.h"

namespace hone {

// config.json, weights and tokenizer against each other: missing, unexpected and wrongly shaped
// tensors, values that are NaN or infinite. Memory: the largest tensor in float32.
void check_model(const Pretrained& model, Findings& findings);

// Whether check_data reads the rows of such a task.
bool reads_rows_of(const TaskSettings& s);
// The rows of the run, by check_rows.h, check_labels.h or check_pairs.h; `notes` for the first
// screen, a sentence each.
RowsReport check_data(const TaskSettings& s, const Pretrained& model, ThreadPool& pool,
                      int64_t samples, std::vector<std::string>& notes, Findings& findings);

// Settings against each other, the rows there are, the output folder, the disk and the memory.
// `given` says which settings the user chose.
struct RunReport {
  int64_t steps = 0;  // optimizer steps; 0: not known
  int64_t memory_bytes = 0, memory_limit_bytes = 0;
  int64_t disk_bytes = 0, disk_free_bytes = 0;
};
RunReport check_run(const TaskSettings& s, const Schema& given, const Pretrained& model,
                    const RowsReport& rows, Findings& findings);

}  // namespace hone

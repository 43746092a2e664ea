// A run as its settings ask for it: the model's files, and settings that fight each other.
#pragma once

#include "learn/check/check_rows.h"
#include "learn/tasks/run_programs.h"

namespace hone {

// config.json, weights and tokenizer against each other: missing, unexpected and wrongly shaped
// tensors, values that are NaN or infinite. Memory: the largest tensor in float32.
void check_model(const Pretrained& model, Findings& findings);

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

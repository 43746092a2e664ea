// Runs a model forward and backward over some rows, without dropout, and returns the intermediate values that
// docs/tracing.md describes: act.<module> (outputs of modules), loss, and grad.<weight> (gradients).
#pragma once

#include <string>
#include <vector>

#include "engine/device/backend.h"
#include "learn/harness/task.h"

namespace hone {

struct TraceOptions {
  // false: skips the passes that fuse ops, so that the output of every module is a value of its own.
  bool fuse = true;
};

struct TracedTensor {
  std::string name;
  Type type;  // f32
  std::vector<float> values;
};

// Traces the given `rows`, or, if `rows` is null, the first per_device_train_batch_size rows of a training run of the
// task. Returns the values in the order of computation. Changes the head, the labels and the dropout in model.config.
// Errors: H2901 each given row has fewer than two ids, a row is longer than the model's positions, or an id is outside
// the vocabulary; those of reading the task's data, of load_weights() and of Session::compile().
Result<std::vector<TracedTensor>> trace_task(const Task& task, Pretrained& model,
                                             const ExampleRows* rows, const Backend& backend,
                                             const TraceOptions& options = {});

// Writes the tensors into one safetensors file. Its metadata entry "order" is a JSON list of their names, in order.
Status save_trace(const std::string& path, const std::vector<TracedTensor>& tensors);

}  // namespace hone

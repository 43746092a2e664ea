// Runs a model forward and backward over rows and keeps what docs/tracing.md names: act.<module>,
// loss, grad.<weight>. Dropout is off.
#pragma once

#include <string>
#include <vector>

#include "engine/device/backend.h"
#include "learn/harness/task.h"

namespace hone {

struct TraceOptions {
  bool fuse = true;  // false: no two ops are joined, so that every module has its own value
};

struct TracedTensor {
  std::string name;
  Type type;  // f32
  std::vector<float> values;
};

// The first micro-batch of a run of the task, with per_device_train_batch_size packed rows; or all
// of the given rows. In the order of computation. Errors: those of the task's data, of the weights
// and of compiling; H2901: given rows hold nothing to learn or an id outside the vocabulary.
// Changes the model's config: head, labels, dropout.
Result<std::vector<TracedTensor>> trace_task(const Task& task, Pretrained& model,
                                             const ExampleRows* rows, const Backend& backend,
                                             const TraceOptions& options = {});

// One safetensors file whose metadata entry `order` lists the names.
Status save_trace(const std::string& path, const std::vector<TracedTensor>& tensors);

}  // namespace hone

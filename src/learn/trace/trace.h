// Runs a causal language model forward and backward over rows of ids and keeps what docs/tracing.md
// names: act.<module>, loss, grad.<weight>. Dropout is off.
#pragma once

#include <string>
#include <vector>

#include "base/core/threads.h"
#include "engine/device/backend.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

struct TraceOptions {
  bool fuse = true;  // false: no two ops are joined, so that every module has its own value
};

struct TracedTensor {
  std::string name;
  Type type;  // f32
  std::vector<float> values;
};

// Rows run packed. In the order of computation. Errors: those of the weights
// and of compiling; H2901 when the rows hold nothing to learn or an id is outside the vocabulary.
Result<std::vector<TracedTensor>> trace_clm(const Pretrained& model,
                                            const std::vector<std::vector<int32_t>>& rows,
                                            const Backend& backend,
                                            const TraceOptions& options = {});

// One safetensors file whose metadata entry `order` lists the names.
Status save_trace(const std::string& path, const std::vector<TracedTensor>& tensors);

}  // namespace hone

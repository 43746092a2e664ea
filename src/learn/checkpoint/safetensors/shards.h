// Weights in several files, with an index of the tensors' files.
#pragma once

#include <memory>
#include <string>

#include "base/store/store.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// x.index.json: an object whose weight_map has a plain file name for each tensor. `open` opens one
// of these files. H2204 when index and shards do not fit.
Result<std::unique_ptr<WeightSource>> open_shard_index(
    const std::string& path,
    Result<std::unique_ptr<WeightSource>> (*open)(const std::string& path, Store& store),
    Store& store);

}  // namespace hone

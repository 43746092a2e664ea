// Opens weights that are in several files, by an index that names the file of each tensor.
#pragma once

#include <memory>
#include <string>

#include "base/store/store.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// `path`: the index, such as model.safetensors.index.json: an object whose weight_map has, for each tensor, the name
// of a file in the same folder. `open` opens one of these files. H2204: the index is not valid, or the index and the
// files do not fit together. Errors of `open`.
Result<std::unique_ptr<WeightSource>> open_shard_index(
    const std::string& path,
    Result<std::unique_ptr<WeightSource>> (*open)(const std::string& path, Store& store),
    Store& store);

}  // namespace hone

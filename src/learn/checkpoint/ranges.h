// Tensors in checkpoints of several ranks: a rank writes the rows of its share under the name
// "<tensor>[first:end]", and rows of which it has some columns under "<tensor>[first:end,0:8+16:24]", where the
// tensor has these columns one after another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/graph/shard.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

std::string range_name(const std::string& tensor, const RowRange& rows,
                       const std::vector<RowRange>& columns = {});

// One source of the tensors of several; ranges of one tensor are joined. Reads of a part of a tensor
// read the ranges that hold it. Errors: H2204 the ranges of a tensor do not hold each of its elements once,
// or a tensor is there twice.
Result<std::unique_ptr<WeightSource>> join_ranges(
    std::vector<std::unique_ptr<WeightSource>> sources);

}  // namespace hone

// Tensors of a checkpoint that are divided among ranks. A rank that has the rows `first` to `end` - 1 writes them as a
// tensor with the name "<tensor>[first:end]". If it has only some columns of these rows, the name is
// "<tensor>[first:end,0:8+16:24]": here the columns 0 to 7 and 16 to 23, one after the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/graph/shard.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// The name of a range. `columns` empty: all columns.
std::string range_name(const std::string& tensor, const RowRange& rows,
                       const std::vector<RowRange>& columns = {});

// Makes one source of the tensors of all `sources`, in which the ranges of a tensor are one whole tensor. Reading a
// part of a tensor reads only the ranges that hold it. H2204: the ranges of a tensor lack an element or have it twice,
// or a tensor appears twice.
Result<std::unique_ptr<WeightSource>> join_ranges(
    std::vector<std::unique_ptr<WeightSource>> sources);

}  // namespace hone

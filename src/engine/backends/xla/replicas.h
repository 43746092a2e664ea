// The programs of ranks, which one module runs as its replicas: their differences.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/core/error.h"
#include "engine/graph/graph.h"

namespace hone::xla {

// Rows of the first axis that ranks have of a value, by rank, where they differ. In the module every rank has as
// many as the one with most: its own rows come first, and the numbers in the others mean nothing.
using RowsOfRanks = std::map<ValueId, std::vector<int64_t>>;

struct Replicas {
  const Program* widest =
      nullptr;  // of a rank with most rows of every value: the module has its types
  // By node: the begins of a slice, where ranks take other rows of the tensor.
  std::map<size_t, std::vector<int64_t>> begins;
  RowsOfRanks rows;
};

// Compares the programs of all ranks. H1401: they differ in anything but the rows that they take, or an op
// mixes rows of which ranks have different numbers.
Result<Replicas> compare_replicas(std::span<const Program* const> ranks);

}  // namespace hone::xla

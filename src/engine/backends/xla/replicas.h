// Finds the differences between the programs of ranks, so that one StableHLO module can run them all as
// its replicas.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/core/error.h"
#include "engine/graph/graph.h"

namespace hone::xla {

// For each value whose number of rows (size of the first axis) differs between ranks: the number of rows of each rank,
// by rank. In the module all replicas have the largest number. A rank's own rows come first; its other rows are
// undefined.
using RowsOfRanks = std::map<ValueId, std::vector<int64_t>>;

struct Replicas {
  // The program of a rank that has the largest number of rows of every value. The values of the module have the types
  // of this program.
  const Program* widest = nullptr;
  // By the index of a node `slice`: where the slice of each rank begins, if this differs between ranks.
  std::map<size_t, std::vector<int64_t>> begins;
  RowsOfRanks rows;
};

// Compares the programs of all ranks, in the order of the ranks. H1401: they differ in more than the rows that they
// hold, or an op would mix a rank's own rows with undefined ones.
Result<Replicas> compare_replicas(std::span<const Program* const> ranks);

}  // namespace hone::xla

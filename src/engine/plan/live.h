// The bytes alive at each node while lifetimes change, for passes that move or drop values.
#pragma once

#include <cstdint>
#include <vector>

namespace hone {

// A tree of sums over node numbers: a query or an update takes time that grows with the logarithm
// of the number of nodes.
class LiveBytes {
 public:
  // Nodes 0 to `nodes` - 1, at which nothing is alive.
  explicit LiveBytes(int32_t nodes);

  // Adds bytes at the nodes first to last, inclusive; none when last < first. Nodes before 0 and
  // after the last are left out.
  void add(int32_t first, int32_t last, int64_t bytes);

  int64_t at(int32_t node) const;
  int64_t most() const { return most_[1]; }
  int32_t where() const;  // the first node at which the most is alive

 private:
  int32_t nodes_, leaves_;
  std::vector<int64_t> all_;   // by tree node: added to all below it
  std::vector<int64_t> most_;  // by tree node: the most below it, with all_ of its own
};

}  // namespace hone

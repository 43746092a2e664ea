// Counts the bytes that are alive (in use) at each node of a program, for passes that change lifetimes by moving or
// dropping values.
#pragma once

#include <cstdint>
#include <vector>

namespace hone {

// A tree of sums over the indices of nodes. The time of add(), at() and where() grows with the logarithm of the number
// of nodes.
class LiveBytes {
 public:
  // Starts with 0 bytes at each of the nodes 0 to `nodes` - 1.
  explicit LiveBytes(int32_t nodes);

  // Adds `bytes` (negative: subtracts) at each of the nodes first to last, inclusive. Does nothing if last < first.
  // Indices outside of the program are ignored.
  void add(int32_t first, int32_t last, int64_t bytes);

  int64_t at(int32_t node) const;            // the bytes at a node; an index out of range is a Bug
  int64_t most() const { return most_[1]; }  // the most bytes at any node
  int32_t where() const;                     // the first node that has most() bytes

 private:
  int32_t nodes_, leaves_;
  // For each node of the tree: the bytes that are added to all leaves below it.
  std::vector<int64_t> all_;
  // For each node of the tree: the most bytes of a leaf below it, counting all_ of this node and of the nodes below it.
  std::vector<int64_t> most_;
};

}  // namespace hone

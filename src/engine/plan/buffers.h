// Finds the values that share storage: views, in-place results, a state's old and new version. Such values are one
// buffer.
#pragma once

#include "engine/graph/op.h"

namespace hone {

struct Storage {
  int32_t buffer = -1;  // index in Buffers::all; -1: the value has no storage
  int64_t offset = 0;   // bytes from the start of the buffer
};

struct Buffers {
  std::vector<Storage> of;  // by ValueId
  struct Buffer {
    int64_t bytes = 0;
    // Indices of the first and the last node that use the buffer, inclusive. -1: it exists before the first node.
    int32_t first = 0, last = 0;
    int32_t state = -1;  // index in Program::states; -1: the buffer is not a state's
    Space space = Space::device;
  };
  std::vector<Buffer> all;
  // For each node: the index of the last node during which the node's operands and results are in use. This is the node
  // itself or, if it is asynchronous, its first wait.
  std::vector<int32_t> busy_until;
};

// The operands and results of an asynchronous node (is_begun() of op.h) are in use from the node to its first
// wait. A kernel of the lane host_compute may still overwrite an operand that nothing else reads in that time. A state
// whose new version cannot overwrite the old version is a Bug: a pass must rewrite the program.
Buffers share_storage(const Program& p);

// Whether result 0 of the node is a view of operand 0, with no storage of its own.
bool is_view(const Program& p, const Node& n);

// The index of result v in n.out; n.out.size() if v is not a result. Takes constant time if the results have
// consecutive ids. An update has thousands of results.
size_t result_index(const Node& n, ValueId v);

}  // namespace hone

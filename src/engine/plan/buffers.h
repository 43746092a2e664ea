// Values that share storage by definition: views, in-place results, a state's old and new version.
#pragma once

#include "engine/graph/op.h"

namespace hone {

struct Storage {
  int32_t buffer = -1;
  int64_t offset = 0;  // bytes into the buffer
};

struct Buffers {
  std::vector<Storage> of;  // by ValueId
  struct Buffer {
    int64_t bytes = 0;
    int32_t first = 0, last = 0;  // nodes; -1: before the first
    int32_t state = -1;           // index in Program::states, or -1
    Space space = Space::device;
  };
  std::vector<Buffer> all;
  // By node: the node until which its operands and results are in use, itself or its first wait.
  std::vector<int32_t> busy_until;
};

// The operands and results of an asynchronous node (is_begun) are in use from its start to its
// first wait; a host kernel may still overwrite an operand without other readers at that time. A
// state whose new version cannot replace the old one in place is a Bug: the program must be
// rewritten.
Buffers share_storage(const Program& p);

// n's result may be a part of its operand's storage.
bool is_view(const Program& p, const Node& n);

// v is result number result_index(n, v) of n. An update has thousands, so it is not searched for.
size_t result_index(const Node& n, ValueId v);

}  // namespace hone

// Places collectives among the nodes of a program: each starts as soon as its operands are there, in
// the order in which they were added, beside the nodes that follow.
//
//   Exchanges exchanges(program);
//   exchanges.add(operands, [&] { sums = ops::all_reduce(b, operands, share); },
//                 [&] { use(ops::wait(b, sums[0])); });
//   exchanges.put_in_place();
#pragma once

#include <vector>

#include "base/core/threads.h"
#include "engine/graph/builder.h"

namespace hone {

class Exchanges {
 public:
  // The program has all nodes that make operands.
  explicit Exchanges(Program& program);

  // `start` appends nodes that begin a collective, `after` nodes that wait for it and read its results.
  // Both are called at once.
  void add(const Values& operands, FunctionRef<void()> start, FunctionRef<void()> after);

  // Puts the nodes among those of the program; nodes that were appended besides come last. At most
  // two collectives are on their way at a time.
  void put_in_place();

 private:
  struct Exchange {
    std::vector<Node> start, after;
    size_t ready = 0;  // the node before which all operands are there
  };
  std::vector<Node> nodes_of(FunctionRef<void()> emit);

  Program& p_;
  const size_t before_;  // nodes of the program before
  std::vector<Exchange> exchanges_;
};

}  // namespace hone

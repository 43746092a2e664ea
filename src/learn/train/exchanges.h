// Inserts collectives (messages between ranks) into a program so that they run while other nodes compute: each starts
// as soon as its operands are computed. Collectives start in the order in which they were added.
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
  // `program` must already have all nodes that compute operands of the collectives.
  explicit Exchanges(Program& program);

  // Adds a collective. `operands`: its operands. `start` appends the nodes that start it to the program. `after`
  // appends the nodes that wait for it and use its results. add() calls both before it returns.
  void add(const Values& operands, FunctionRef<void()> start, FunctionRef<void()> after);

  // Moves the nodes of all collectives to their places in the program. Nodes that the caller appended otherwise come
  // last. At most two collectives run at the same time.
  void put_in_place();

 private:
  struct Exchange {
    std::vector<Node> start, after;
    size_t ready = 0;  // index of the first node before which all operands are computed
  };
  std::vector<Node> nodes_of(FunctionRef<void()> emit);

  Program& p_;
  const size_t before_;  // number of nodes that the program had at the start
  std::vector<Exchange> exchanges_;
};

}  // namespace hone

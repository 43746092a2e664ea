// Inserts collectives (messages between ranks) into a program so that they run while other nodes compute. A collective
// starts as soon as its operands are computed and the collectives that were added before it have started.
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

  // Adds a collective. `operands`: its operands. `start` must append the nodes that start the collective to the
  // program; `after` must append the nodes that wait for it and use its results. add() calls `start`, then `after`, and
  // takes their nodes out of the program until put_in_place().
  void add(const Values& operands, FunctionRef<void()> start, FunctionRef<void()> after);

  // Inserts the nodes of all collectives at their places in the program. At most two collectives run at the same time:
  // before a third one starts, the program waits for the first. Nodes that were appended to the program after the
  // constructor, except those of collectives, come last. Call it once, after the last add().
  void put_in_place();

 private:
  struct Exchange {
    std::vector<Node> start, after;
    size_t ready = 0;  // index of the first node before which all operands are computed
  };
  std::vector<Node> nodes_of(FunctionRef<void()> emit);

  Program& p_;
  const size_t before_;  // number of nodes of the program when this object was created
  std::vector<Exchange> exchanges_;
};

}  // namespace hone

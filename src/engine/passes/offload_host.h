// Updates that are done by kernels of the host, because the optimizer's states are in its memory.
//
// HostLane::apart: gradients and weights are copied to the host, the new weights come back, and no
// state of the optimizer crosses the bus. Three updates are on their way at a time: the operands of
// one are copied, the one before computes, and the results of the one before that come back.
//
//   %20 = copy(%g) {to="host"}                 what update k reads
//   %21 = wait(%14)  ...                       update k - 2 is done
//   %22 = copy(%21) {to="device"}
//   %23 = wait(%15)  ...
//   %24, %25, %26 = adamw(%23, ..) lane host_compute          update k - 1
//
// Copies of weights in two bytes are rounded on the host, after the update of the weight, and cross
// the bus instead of it.
//
// HostLane::one_place: the kernel reads all where it is and writes over it; only results that are
// not written over an operand are copied.
// After J. Ren et al., "ZeRO-Offload: Democratizing Billion-Scale Model Training", 2021.
#pragma once

#include <deque>
#include <map>

#include "engine/graph/builder.h"

namespace hone {

class HostUpdates {
 public:
  HostUpdates(Program& p, Builder& b, HostLane lane) : p_(p), b_(b), lane_(lane) {}

  // The next update. Its operands are on the device, on the host, or results of updates before it.
  // `after`: nodes that read its results alone and make states, as the copies of weights in two
  // bytes.
  void add(Node n, std::vector<Node> after = {});
  bool makes(ValueId v) const { return made_.contains(v); }
  // The value on the device, after its update is done, where the compute lane can read it.
  ValueId on_device(ValueId v);
  // Finishes all updates, and gives the states their new versions.
  void finish();

 private:
  struct Made {
    int32_t state = -1;                        // index of the state whose new version it is, or -1
    ValueId waited = kNoValue;                 // on the host, or where it was written over
    ValueId back = kNoValue, home = kNoValue;  // on the way to the state's home, and there
  };
  ValueId host_copy(ValueId v);  // where it is on the host by now or will be
  struct Update {
    Node node;
    std::vector<Node> after;
  };
  struct Begun {
    Values results;
    std::vector<Node> after;
  };
  void know(const Node& n);
  void issue(Node n);
  void return_begun();
  void return_results(const Values& results);
  void wait_for_returned(const Values& results);
  ValueId waited(ValueId v);
  void advance(size_t left);

  Program& p_;
  Builder& b_;
  const HostLane lane_;
  std::map<ValueId, int32_t> state_of_;  // new version -> index
  bool knows_states_ = false;
  std::map<ValueId, Made> made_;
  struct Copied {
    ValueId copy = kNoValue, done = kNoValue;
  };
  std::map<ValueId, Copied> copies_;  // to the host, by value on the device
  // Updates whose operands are copied, that are issued, and whose results are on their way.
  std::deque<Update> copied_;
  std::deque<Begun> issued_;
  std::deque<Values> returned_;
};

}  // namespace hone

// Internal to offload: optimizer updates that kernels of the host run, because the optimizer's states are in the host's
// memory.
//
// HostLane::apart: gradients and weights are copied to the host, and the new weights are copied back. The optimizer's
// states stay on the host. Three updates are in flight: the operands of update k are copied to the host, update k - 1
// runs, and the results of update k - 2 are copied back.
//
//   %20 = copy(%g) {to="host"}                 an operand of update k
//   %21 = wait(%14)  ...                       update k - 2 is complete
//   %22 = copy(%21) {to="device"}
//   %23 = wait(%15)  ...
//   %24, %25, %26 = adamw(%23, ..) lane host_compute          update k - 1
//
// If products read a copy of the weight in bf16 or f16 (compute_copies), the host rounds the new weight, and the
// rounded weight is copied to the device instead of the f32 weight.
//
// HostLane::one_place: the device uses the host's memory, so the kernel reads and writes its operands in place. Only
// results that are not written over an operand are copied.
// The method is that of J. Ren et al., "ZeRO-Offload: Democratizing Billion-Scale Model Training", 2021.
#pragma once

#include <deque>
#include <map>

#include "engine/graph/builder.h"

namespace hone {

class HostUpdates {
 public:
  HostUpdates(Program& p, Builder& b, HostLane lane) : p_(p), b_(b), lane_(lane) {}

  // Adds the next update node. Its operands are on the device, on the host, or are results of updates added before.
  // `after`: nodes that make states from the update's results alone, such as casts of weights to bf16.
  void add(Node n, std::vector<Node> after = {});
  // Whether the value is a result of an added node.
  bool makes(ValueId v) const { return made_.contains(v); }
  // Emits the nodes that the compute lane needs to read result `v` of an update, and returns the value to read.
  ValueId on_device(ValueId v);
  // Emits the remaining nodes of all updates, and sets State::next of their states.
  void finish();

 private:
  struct Made {
    int32_t state = -1;  // index of the state whose new version the result is; -1: none
    // The result of the wait for the update, in the space in which the update ran.
    ValueId waited = kNoValue;
    // The copy of the result to the state's home, and the wait for this copy.
    ValueId back = kNoValue, home = kNoValue;
  };
  ValueId host_copy(ValueId v);  // the value on the host, or the copy that brings it there
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
  std::map<ValueId, int32_t> state_of_;  // new version -> index of the state
  bool knows_states_ = false;
  std::map<ValueId, Made> made_;
  struct Copied {
    ValueId copy = kNoValue, done = kNoValue;
  };
  std::map<ValueId, Copied> copies_;  // value on the device -> its copy to the host
  std::deque<Update> copied_;         // updates whose operands are being copied to the host
  std::deque<Begun> issued_;          // updates that run
  std::deque<Values> returned_;       // results that are being copied back
};

}  // namespace hone

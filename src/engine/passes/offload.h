// offload: moves values to the host's memory or to disk while no node on the device reads them.
//
//   %9 = adamw(.., %m, ..)   ->   %20 = copy(%m) {to="device"}      placed one stay earlier
//                                 %21 = wait(%20)
//                                 %9  = adamw(.., %21, ..)
//   next %m = %9                  %22 = copy(%9) {to="disk"}
//                                 %23 = wait(%22)                   placed two stays later
//                                 next %m = %23
//
// A stay is a group of nodes that use a value, with at most kStayGap other nodes between two of them; the value
// is on the device during the stay. An offloaded state has a home other than the device and is copied to the device for
// each stay. Gradients and activations are not states: they are made on the device, are copied away after
// their first stay, and are copied back for the next one. A copy to the device starts at most kStayGap nodes before the
// stay; the copy of an optimizer's states starts while the update before theirs runs. So the states of at most three
// updates are on the device. (An update is one node for each 64 MiB of weights.)
// Placement: no value changes. Passes that move nodes must run before this one.
// If the optimizer's states are on the host and the host has kernels (HostLane), the host runs the update instead
// (offload_host.h). States on disk are always copied to the device: see docs/design/host-update.md.
// The method is that of S. Rajbhandari et al., "ZeRO-Infinity: Breaking the GPU Memory Wall", 2021.
#pragma once

#include <map>

#include "engine/graph/graph.h"

namespace hone {

inline constexpr int kStayGap = 16;  // nodes

// The space of each kind of value between its stays. Space::device: it is not offloaded.
struct Offload {
  Space moments = Space::device;  // all states of the optimizer
  // Weights. If products read copies of weights (compute_copies), `params` is the space of the copies and `masters`
  // that of the f32 weights.
  Space params = Space::device;
  Space masters = Space::device;
  Space gradients = Space::device;    // gradients that wait for the update or the next micro-batch
  Space activations = Space::device;  // activations that the backward pass reads
  // Weights, gradients and activations with fewer elements stay on the device (ZeRO's persistence threshold).
  int64_t least_elements = 100'000;
  // The homes of single states, by name, which replace the space of their kind. For states that do not fit in the
  // host's memory. All programs of a run must get the same map.
  std::map<std::string, Space> homes = {};
  // The device's lane host_compute. Unless it is none, the host runs the updates whose moments are in its memory.
  HostLane host_lane = HostLane::none;

  // Whether any kind of value is offloaded.
  bool any() const {
    return masters != Space::device || moments != Space::device || params != Space::device ||
           gradients != Space::device || activations != Space::device;
  }
  // A value for `masters` that puts the f32 weights in the space of the moments, if these are offloaded.
  Space beside_moments() const { return moments != Space::device ? moments : params; }
  // The home that the pass gives the state; `type`: of the state.
  Space home(const State& state, const Type& type) const;
};

Result<bool> offload(Program& p, const Offload& to);

}  // namespace hone

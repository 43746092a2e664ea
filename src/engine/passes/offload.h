// offload: moves values to the host's memory or to disk while no node on the device reads them.
//
//   %9 = adamw(.., %m, ..)   ->   %20 = copy(%m) {to="device"}      placed one stay (see below) earlier
//                                 %21 = wait(%20)
//                                 %9  = adamw(.., %21, ..)
//   next %m = %9                  %22 = copy(%9) {to="disk"}
//                                 %23 = wait(%22)                   placed two stays later
//                                 next %m = %23
//
// A stay is a sequence of nodes that use a value, each at most kStayGap nodes after the one before. The value is on the
// device during the stay. An offloaded state has a home other than the device and is copied to the device for
// each stay. Gradients and activations are not states: they are made on the device, are copied away after
// their first stay, and are copied back for the next one. A copy to the device starts at most kStayGap nodes before the
// stay. The copy of an update's optimizer states starts while the previous update runs. So the optimizer states of at
// most three updates are on the device. (An update is one node for each 64 MiB of weights.)
// Placement: no value changes. Passes that move nodes must run before this one.
// If the optimizer's states are on the host and the host has kernels (HostLane), the host runs the update instead
// (offload_host.h). States on disk are always copied to the device: see docs/design/host-update.md.
// The method is that of S. Rajbhandari et al., "ZeRO-Infinity: Breaking the GPU Memory Wall", 2021.
#pragma once

#include <map>

#include "engine/graph/graph.h"

namespace hone {

inline constexpr int kStayGap = 16;  // nodes

// The space of each kind of value between its stays. Space::device: the kind is not offloaded.
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
  // The homes of single states by name, for states that do not fit in the host's memory. Such a home replaces the space
  // of the state's kind, if that kind is offloaded. All programs of a run must get the same map.
  std::map<std::string, Space> homes = {};
  // The device's lane host_compute. Unless this is HostLane::none, the host runs the updates whose moments are in the
  // host's memory.
  HostLane host_lane = HostLane::none;

  // Whether any kind of value is offloaded.
  bool any() const {
    return masters != Space::device || moments != Space::device || params != Space::device ||
           gradients != Space::device || activations != Space::device;
  }
  // A value for `masters`: the space of the moments if the moments are offloaded, else `params`.
  Space beside_moments() const { return moments != Space::device ? moments : params; }
  // The home that the pass gives the state; `type`: the state's type.
  Space home(const State& state, const Type& type) const;
};

Result<bool> offload(Program& p, const Offload& to);

}  // namespace hone

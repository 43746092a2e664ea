// offload: values leave the device while nothing there reads them.
//
//   %9 = adamw(.., %m, ..)   ->   %20 = copy(%m) {to="device"}      one stay earlier
//                                 %21 = wait(%20)
//                                 %9  = adamw(.., %21, ..)
//   next %m = %9                  %22 = copy(%9) {to="disk"}
//                                 %23 = wait(%22)                   two stays later
//                                 next %m = %23
//
// A state has another home and comes for each stay: the nodes that use it, with at most kStayGap
// others between two of them. Gradients and activations are not states: they are made on the
// device, leave it after their first stay and come back for the next. Values are loaded at most
// kStayGap nodes before their stay, an optimizer's states while the update before theirs computes.
// So the states of at most three updates are on the device; an update is a node for each 64 MiB of
// weights. Placement: no value changes. Nothing may move nodes after it.
// If the optimizer's states are on the host and the host has kernels, they do the update instead
// (offload_host.h). States on disk always come to the device: see docs/design/host-update.md.
// After S. Rajbhandari et al., "ZeRO-Infinity: Breaking the GPU Memory Wall", 2021.
#pragma once

#include <map>

#include "engine/graph/graph.h"

namespace hone {

inline constexpr int kStayGap = 16;  // nodes

// The spaces in which values wait; Space::device: they stay.
struct Offload {
  Space moments = Space::device;  // all states of the optimizer
  Space params = Space::device;   // weights; with masters, what products read of them
  // Weights in f32, where products read copies (compute_copies).
  Space masters = Space::device;
  Space gradients = Space::device;    // those that wait for the update, or for the next micro-batch
  Space activations = Space::device;  // those that wait for the backward pass
  // Weights, gradients and activations of fewer elements stay (ZeRO's persistence threshold).
  int64_t least_elements = 100'000;
  // States by name that have another home than their kind, in all programs of a run: those that the
  // host's memory has no room for.
  std::map<std::string, Space> homes = {};
  // Whether kernels of the host do the update for moments in the host's memory.
  HostLane host_lane = HostLane::none;

  bool any() const {
    return masters != Space::device || moments != Space::device || params != Space::device ||
           gradients != Space::device || activations != Space::device;
  }
  // The space of f32 weights whose products read copies: together with the moments.
  Space beside_moments() const { return moments != Space::device ? moments : params; }
  // The space in which a state of that type waits.
  Space home(const State& state, const Type& type) const;
};

Result<bool> offload(Program& p, const Offload& to);

}  // namespace hone

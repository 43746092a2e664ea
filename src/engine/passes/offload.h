// offload: optimizer states leave the device.
//
//   %9 = adamw(.., %m, ..)   ->   %20 = copy(%m) {to="device"}      one update earlier
//                                 %21 = wait(%20)
//                                 %9  = adamw(.., %21, ..)
//   next %m = %9                  %22 = copy(%9) {to="disk"}
//                                 %23 = wait(%22)                   two updates later
//                                 next %m = %23
//
// The moments of all nodes that use some, in their order: those of the next node are brought while
// one computes, and those of the one before it are taken back. So the moments of three nodes are on
// the device at most; an update is a node for each 64 MiB of weights. Placement: no value changes.
// Nothing may move nodes after it.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

// The states of role `moment` get this home, which is not the device.
Result<bool> offload(Program& p, Space home);

}  // namespace hone

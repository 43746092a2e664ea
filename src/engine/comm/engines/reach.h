// The address of this host for messages of other ranks.
#pragma once

#include <string>

#include "engine/comm/engines/engines.h"

namespace hone {

// If options.interface names an interface or address of this host: that one. If all ranks are on
// one host: its loopback. Else each rank tries all addresses of all others by real connections
// (reach_probe.h), and the first one that all of them reach is taken, so a bridge of containers or
// an interface that leads elsewhere does no harm. Every rank of the world calls it. Errors: H1501
// no interface has that name, H1505 no address of a rank is reached by all others.
Result<std::string> reachable_address(const World& world, KeyValues& keys,
                                      const CommOptions& options);

}  // namespace hone

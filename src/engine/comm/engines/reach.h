// Finds the address of this host to which other ranks connect.
#pragma once

#include <string>

#include "engine/comm/engines/engines.h"

namespace hone {

// Every rank of the world must call it. Returns a numeric address of this host:
//   options.interface is an address                that address
//   options.interface is the name of an interface  the first address of the interface
//   all ranks are on one host                      127.0.0.1
//   otherwise                                      the first address that all other ranks reach
// For the last case, each rank opens connections to all addresses of all other ranks (reach_probe.h). So the bridge of
// a container, or an interface to another network, is not chosen. If each rank has an IPv4 address that all other ranks
// reach, all ranks use IPv4; else all use IPv6. H1501: this host has no interface or address options.interface. H1505:
// a rank has no address that all other ranks reach, a rank runs another version of hone, or this host cannot listen.
// Also errors of `keys`.
Result<std::string> reachable_address(const World& world, KeyValues& keys,
                                      const CommOptions& options);

}  // namespace hone

// A group whose messages are carried by a module, a shared library of hone (link_module.h).
#pragma once

#include <string>

#include "engine/comm/engines/engines.h"
#include "engine/comm/engines/link_module.h"

namespace hone {

// A module. what: the engine's name ("gloo"). file: the library's file name. symbol: its StartLink function. package:
// the system package that it needs ("libgloo-dev"), for the error H1501.
struct LinkModule {
  std::string what, file, symbol, package;
};
// Loads the module. H1501: the file is missing or is not a module of hone.
Result<StartLink> load_link(const LinkModule& module);

// Connects this rank to all others through the module. `address` is an address of this host that the other ranks reach.
// H1501: as of load_link(). H1505: ranks cannot connect. Also errors of `keys`. make_group() has the rest of the
// contract.
Result<std::unique_ptr<Group>> make_link_group(const LinkModule& module, const std::string& address,
                                               const World& world, KeyValues& keys,
                                               const CommOptions& options);

}  // namespace hone

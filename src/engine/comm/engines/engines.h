// Communication engines: libraries that carry messages between processes (ranks). An engine x is the file x.cc of this
// folder, which defines `CommEngine comm_engine_x()`; no other registration is needed.
//
//   const auto group = HONE_TRY(make_group("gloo", world, keys));
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/text.h"
#include "base/ranks/key_values.h"
#include "base/ranks/world.h"
#include "engine/comm/group.h"

namespace hone {

struct CommOptions {
  std::string name = "world";  // the group's name; a run's groups have different names
  // The network interface, or the address of this host, for messages to other hosts. "": an address that all other
  // ranks reach is found (reach.h).
  std::string interface = environment("HONE_RANKS_INTERFACE");
  double connect_s = 300;      // seconds to wait for other ranks to connect
  double exchange_s = kNoEnd;  // seconds to wait for another rank in an exchange; default: no limit
};

struct CommEngine {
  std::string name;     // "gloo"
  std::string about;    // one line for help
  std::string package;  // the system package that the engine needs, for error texts
  // Checks that the engine can be used. H1501: it is missing in this build or on this machine.
  std::function<Status()> loads;
  // Makes a group; see make_group().
  std::function<Result<std::unique_ptr<Group>>(const World&, KeyValues&, const CommOptions&)> make;
};
std::vector<CommEngine> all_comm_engine();  // all engines; generated from the folder
std::string comm_engine_names();            // "gloo, mpi"

// Connects all ranks of the world as a group. Every rank must call it with the same engine and the same options.name. A
// world of one rank gets single_group(), and the engine is not loaded. `keys` is how ranks find each other; it must
// outlive the group. The group keeps waiting for a key in `keys`: if this wait ends with an error other than H0126
// (nobody set the key in time), a rank has failed, and the group is stopped. H1501: there is no such engine, or it does
// not load. H1505: ranks cannot reach each other. Also errors of `keys`.
Result<std::unique_ptr<Group>> make_group(const std::string& engine, const World& world,
                                          KeyValues& keys, const CommOptions& options = {});

}  // namespace hone

// Engines: libraries that carry messages between processes. One is a file of this folder: x.cc
// defines `CommEngine comm_engine_x()`, and the file name is its registration.
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
  std::string name = "world";  // of the group, if a run has several
  // Network interface or address of this host for messages to other hosts; "": one that all of them
  // reach (reach.h).
  std::string interface = environment("HONE_RANKS_INTERFACE");
  double connect_s = 300;      // patience with ranks that do not connect
  double exchange_s = kNoEnd;  // patience with a rank in an exchange; its host may work for long
};

struct CommEngine {
  std::string name;               // "gloo"
  std::string about;              // one line for help
  std::string package;            // the package that it needs, for a remedy
  std::function<Status()> loads;  // H1501: this build or this machine lacks it
  // Connects all ranks of the world; each calls it.
  std::function<Result<std::unique_ptr<Group>>(const World&, KeyValues&, const CommOptions&)> make;
};
std::vector<CommEngine> all_comm_engine();  // generated from the folder
std::string comm_engine_names();            // "gloo, mpi"

// Makes the group of all ranks of the world, each of which calls it with the same name. A world of
// one rank needs no engine. `keys` outlives the group, which is stopped when a wait for a key ends with
// another error than H0126: the control plane knows then that a rank failed. Errors: H1501 there is no
// such engine or it does not load, H1505 ranks cannot reach each other, and those of `keys`.
Result<std::unique_ptr<Group>> make_group(const std::string& engine, const World& world,
                                          KeyValues& keys, const CommOptions& options = {});

}  // namespace hone

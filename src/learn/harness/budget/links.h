// Speeds of the links between the devices of a planned run.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/link_time.h"
#include "learn/harness/budget/planned_devices.h"

namespace hone {

// Speeds that the user gives. 0: not given; hone then takes the speed from a data sheet, or guesses it.
struct LinkSettings {
  // GB/s that a device sends to all other devices of its machine together (--peer_gbyte).
  double peer_gbyte = 0;
  double network_gbit = 0;  // Gbit/s that a machine sends to all other machines (--network_gbit)
  double network_us = 0;    // microseconds until a small message arrives at another machine
};

struct Links {
  LinkSpeeds speeds;                 // speeds of one device
  std::vector<std::string> figures;  // "900 GB/s between devices of a machine (data sheet of H100)"
  // Advice for each figure that is a guess: "<figure>: give --peer_gbyte".
  std::vector<std::string> guesses;
};

// Finds the speeds of the links in a cluster. The devices of a machine share its network, and each gets an equal part
// of the speed. Speeds are in one direction; a link sends and receives at this speed at the same time.
Links links_of(const Cluster& cluster, const LinkSettings& given);

}  // namespace hone

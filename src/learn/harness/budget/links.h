// Speeds of the links between the devices of a planned run.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/link_time.h"
#include "learn/harness/budget/planned_devices.h"

namespace hone {

// Speeds that the user gives; 0: those of data sheets, else guesses.
struct LinkSettings {
  double peer_gbyte = 0;    // GB/s from a device to others of its machine
  double network_gbit = 0;  // Gbit/s from a machine to all others
  double network_us = 0;    // until a small message is at another machine
};

struct Links {
  LinkSpeeds speeds;                 // of one device
  std::vector<std::string> figures;  // each speed with its source, for people
  std::vector<std::string> guesses;  // those without a source, and the flag that replaces each
};

// All directions are used at the same time.
Links links_of(const Cluster& cluster, const LinkSettings& given);

}  // namespace hone

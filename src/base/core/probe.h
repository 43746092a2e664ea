// A fact that a room finds on this machine; `hone doctor` shows the probes of all rooms.
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

struct Probe {
  std::string topic = "";   // "processor"
  std::string text = "";    // what there is
  std::string remedy = "";  // how to get what is missing; "": nothing is
  OrderedJson facts = {};   // members of the report for programs
};

}  // namespace hone

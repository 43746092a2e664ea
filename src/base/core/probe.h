// A fact that a room finds on this machine; `hone doctor` shows the probes of all rooms.
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

struct Probe {
  std::string topic = "";   // "processor"
  std::string text = "";    // the fact, for people
  std::string remedy = "";  // how to install the missing part; "": nothing is missing
  OrderedJson facts = {};   // members of the report for programs
};

}  // namespace hone

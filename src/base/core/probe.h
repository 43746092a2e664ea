// A fact about this machine, such as its processor. Each library of hone has functions that find such facts; `hone
// doctor` shows all of them.
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

struct Probe {
  std::string topic = "";   // "processor"
  std::string text = "";    // the fact, for people
  std::string remedy = "";  // how to install the missing part; "": nothing is missing
  OrderedJson facts = {};   // an object; `hone doctor` puts its members into its JSON report
};

}  // namespace hone

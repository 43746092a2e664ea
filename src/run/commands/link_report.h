// The connections between hosts as a table, and what is wrong with them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/core/json.h"
#include "engine/comm/engines/link_speeds.h"
#include "engine/comm/measure.h"

namespace hone {

// The speed of the engine of messages on all ranks together.
struct EngineSpeed {
  std::string name = {};
  std::string problem = {};            // the reason why it does not connect the ranks; "": it does
  GroupSpeed rank0 = {};               // as rank 0 measured it
  std::vector<Json> bytes_per_s = {};  // by rank, of each peer
};

class LinkReport {
 public:
  LinkReport(std::vector<LinkSpeed> links, EngineSpeed engine);
  LinkReport(const LinkReport&) = delete;  // it points into itself

  // "no connection: 0 a - 2 b" if two ranks have none, or the engine's problem; else "".
  std::string fault() const;
  // At most `width` columns wide, as far as that is possible.
  std::string text(int width) const;
  OrderedJson json() const;

 private:
  double engine_speed(const LinkSpeed& link) const;
  std::string summary() const;

  std::vector<LinkSpeed> links_;
  EngineSpeed engine_;
  std::map<std::pair<int, int>, const LinkSpeed*> best_;  // of each pair
  const LinkSpeed* slowest_ = nullptr;                    // of the best
  double median_ = 0;
};

}  // namespace hone

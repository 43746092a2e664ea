// The report of hone doctor --links: a table of the connections between the hosts of ranks, and their faults.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/core/json.h"
#include "engine/comm/engines/link_speeds.h"
#include "engine/comm/measure.h"

namespace hone {

// The measured speed of a communication library, such as gloo.
struct EngineSpeed {
  std::string name = {};
  std::string problem = {};  // why the library does not connect the ranks; "": it does
  GroupSpeed rank0 = {};     // the measurement of rank 0
  // bytes_per_s[r] is an array: the speed between rank r and each rank, in bytes per second.
  std::vector<Json> bytes_per_s = {};
};

class LinkReport {
 public:
  LinkReport(std::vector<LinkSpeed> links, EngineSpeed engine);
  LinkReport(const LinkReport&) = delete;  // members point into the object

  // "no connection: 0 a - 2 b" if rank 0 on host a and rank 2 on host b have no connection; else EngineSpeed::problem.
  // "": no fault.
  std::string fault() const;
  // The table and a summary, at most `width` columns wide if possible.
  std::string text(int width) const;
  OrderedJson json() const;

 private:
  double engine_speed(const LinkSpeed& link) const;
  std::string summary() const;

  std::vector<LinkSpeed> links_;
  EngineSpeed engine_;
  std::map<std::pair<int, int>, const LinkSpeed*> best_;  // the fastest link of each pair of ranks
  const LinkSpeed* slowest_ = nullptr;                    // the slowest link in best_
  double median_ = 0;                                     // median speed of best_, in bytes/s
};

}  // namespace hone

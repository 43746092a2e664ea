#include "engine/passes/pass_table.h"

#include <fmt/format.h>

namespace hone {

std::string pass_table(const Program& built, const std::vector<PassRecord>& records) {
  std::string text = fmt::format("{:<20} {:<8} {:>7} {:>10}\n{:<20} {:<8} {:>7}\n", "pass",
                                 "changed", "nodes", "ms", "build", "", built.nodes.size());
  for (const PassRecord& r : records)
    text += fmt::format("{:<20} {:<8} {:>7} {:>10.3f}\n", r.name, r.changed ? "yes" : "no", r.nodes,
                        r.milliseconds);
  return text;
}

}  // namespace hone

// The one place a pass passes through: name, off-switch, timer, dump, liar check, verifier.
#pragma once

#include <functional>
#include <set>

#include "engine/graph/graph.h"

namespace hone {

enum class PassKind {
  numeric,    // may change rounding: depends on shapes only and comes before `freeze`
  placement,  // may only duplicate, move or alias values; never changes a bit
};

struct Pass {
  std::string name;
  PassKind kind = PassKind::numeric;
  std::function<Result<bool>(Program&)> run;  // true: the program changed
};

struct PassRecord {
  std::string name;
  bool changed = false;
  double milliseconds = 0;
  size_t nodes = 0;  // after the pass
};

struct PassOptions {
  std::set<std::string> off;                                          // --pass_off fuse,simplify
  std::function<void(const std::string& pass, const Program&)> dump;  // called after each change
};

// Runs the passes in order. A pass that fails the verifier, or says "unchanged" when the program
// differs, is a Bug.
Result<std::vector<PassRecord>> run_passes(Program& p, const std::vector<Pass>& passes,
                                           const PassOptions& options);

}  // namespace hone

// The one place a pass passes through: name, off-switch, timer, dump, verifier, and the checks that
// a pass does what it says: no change where it reports none, the same numbers where it is a placement
// pass, and numeric passes before all of those.
#pragma once

#include <functional>
#include <set>

#include "engine/graph/graph.h"

namespace hone {

enum class PassKind {
  numeric,    // may change rounding: depends on shapes only; none after the first placement pass
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

// Runs the passes in order. A pass is a Bug when it fails the verifier, when it says "unchanged" and
// the program differs, when it is a placement pass and numeric_fingerprint() differs, and when it is
// numeric and the program is frozen: a placement pass has run on it before.
Result<std::vector<PassRecord>> run_passes(Program& p, const std::vector<Pass>& passes,
                                           const PassOptions& options);

}  // namespace hone

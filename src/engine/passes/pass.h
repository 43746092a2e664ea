// Runs every pass, with its name, off-switch, timer, dump and verifier, and checks what it
// promises: no change where it reports none, the same numbers if it is a placement pass, and no
// numeric pass after a placement pass.
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

enum class PassChecks {
  each,  // after each pass
  last,  // of all passes together, after the last one: for programs that are planned and do not run
};

struct PassOptions {
  std::set<std::string> off;  // --pass_off fuse_forward,simplify
  std::function<void(const std::string& pass, const Program&)> dump;  // called after each change
  PassChecks checks = PassChecks::each;
};

// Runs the passes in order. Throws a Bug if the verifier fails after a pass, if a pass says
// "unchanged" and the program differs, if a placement pass changes numeric_fingerprint(), or if a
// numeric pass runs on a frozen program: one on which a placement pass has run. PassChecks::last
// verifies once and compares numeric_fingerprint() once, for all placement passes together; it
// believes a pass that says "unchanged".
Result<std::vector<PassRecord>> run_passes(Program& p, const std::vector<Pass>& passes,
                                           const PassOptions& options);

}  // namespace hone

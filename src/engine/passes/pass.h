// Runs passes: rewrites of programs. The runner times each pass and verifies the program after it. It also checks that
// a pass which reports no change made none, that a placement pass changes no result, and that no numeric pass runs
// after a placement pass.
#pragma once

#include <functional>
#include <set>

#include "engine/graph/graph.h"

namespace hone {

enum class PassKind {
  // May change the rounding of results. The pass's choices depend on shapes only. It runs before all placement passes.
  numeric,
  placement,  // may only duplicate, move or alias values; never changes a bit of a result
};

struct Pass {
  std::string name;
  PassKind kind = PassKind::numeric;
  std::function<Result<bool>(Program&)> run;  // returns whether it changed the program
};

struct PassRecord {
  std::string name;
  bool changed = false;
  double milliseconds = 0;
  size_t nodes = 0;  // the program's number of nodes after the pass
};

enum class PassChecks {
  each,  // check after each pass
  last,  // check once, after the last pass: for programs that are planned and do not run
};

struct PassOptions {
  std::set<std::string> off;  // names of passes to leave out (--pass_off fuse_forward,simplify)
  // Called after each pass that changed the program; may be empty.
  std::function<void(const std::string& pass, const Program&)> dump;
  PassChecks checks = PassChecks::each;
};

// Runs the passes in order. Returns a record of each pass that ran, or the first error of a pass. Throws a Bug if
// verify() fails after a pass, if a pass reports no change and the program differs, if a placement pass
// changes numeric_fingerprint(), or if a numeric pass runs on a frozen program, one on which a placement pass has run.
// PassChecks::last calls verify() once and compares numeric_fingerprint() once, for all placement passes together; it
// does not check passes that report no change.
Result<std::vector<PassRecord>> run_passes(Program& p, const std::vector<Pass>& passes,
                                           const PassOptions& options);

}  // namespace hone

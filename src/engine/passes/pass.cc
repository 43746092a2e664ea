#include "engine/passes/pass.h"

#include <optional>

#include "base/core/clock.h"
#include "engine/graph/fingerprint.h"
#include "engine/graph/verify.h"

namespace hone {
namespace {

// Runs one pass and checks its promises. `known`: the fingerprint of the program, if the last pass
// left it as it was.
Result<bool> run_checked(Program& p, const Pass& pass, std::optional<uint64_t>& known) {
  const bool placement = pass.kind == PassKind::placement;
  const uint64_t before = known ? *known : fingerprint(p);
  const uint64_t numbers = placement ? numeric_fingerprint(p) : 0;
  const bool changed = HONE_TRY(pass.run(p));
  known = changed ? std::nullopt : std::optional(before);
  HONE_BUG_IF(!changed && fingerprint(p) != before, "pass {} says unchanged, but {} changed",
              pass.name, p.name);
  if (!changed) return false;
  p.compact();
  const Status ok = verify(p);
  HONE_BUG_IF(!ok.ok(), "after pass {}: {}", pass.name, ok.error().text());
  HONE_BUG_IF(placement && numeric_fingerprint(p) != numbers,
              "pass {} places values, but changed what {} computes", pass.name, p.name);
  return true;
}

Result<bool> run_unchecked(Program& p, const Pass& pass) {
  const bool changed = HONE_TRY(pass.run(p));
  if (changed) p.compact();
  return changed;
}

}  // namespace

Result<std::vector<PassRecord>> run_passes(Program& p, const std::vector<Pass>& passes,
                                           const PassOptions& options) {
  const bool each = options.checks == PassChecks::each;
  std::vector<PassRecord> records;
  std::optional<uint64_t> known;    // see run_checked()
  std::optional<uint64_t> numbers;  // before the first placement pass; without checks of each
  for (const Pass& pass : passes) {
    if (options.off.contains(pass.name)) continue;
    const double start = system_clock().seconds();
    const bool placement = pass.kind == PassKind::placement;
    HONE_BUG_IF(!placement && p.frozen, "pass {} is numeric, and {} has had a placement pass",
                pass.name, p.name);
    p.frozen = placement;
    if (placement && !each && !numbers) numbers = numeric_fingerprint(p);
    const bool changed = HONE_TRY(each ? run_checked(p, pass, known) : run_unchecked(p, pass));
    if (changed && options.dump) options.dump(pass.name, p);
    const double took_ms = (system_clock().seconds() - start) * 1e3;
    records.push_back({pass.name, changed, took_ms, p.nodes.size()});
  }
  if (each) return records;
  const Status ok = verify(p);
  HONE_BUG_IF(!ok.ok(), "after the last pass: {}", ok.error().text());
  HONE_BUG_IF(numbers && numeric_fingerprint(p) != *numbers,
              "passes place values, but changed what {} computes", p.name);
  return records;
}

}  // namespace hone

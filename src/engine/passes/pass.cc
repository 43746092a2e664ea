#include "engine/passes/pass.h"

#include <optional>

#include "base/core/clock.h"
#include "engine/graph/fingerprint.h"
#include "engine/graph/verify.h"

namespace hone {

Result<std::vector<PassRecord>> run_passes(Program& p, const std::vector<Pass>& passes,
                                           const PassOptions& options) {
  std::vector<PassRecord> records;
  std::optional<uint64_t> known;  // fingerprint, where the last pass left the program as it was
  for (const Pass& pass : passes) {
    if (options.off.contains(pass.name)) continue;
    const double start = system_clock().seconds();
    const bool placement = pass.kind == PassKind::placement;
    HONE_BUG_IF(!placement && p.frozen, "pass {} is numeric, and {} has had a placement pass",
                pass.name, p.name);
    p.frozen = placement;
    const uint64_t before = known ? *known : fingerprint(p);
    const uint64_t numbers = placement ? numeric_fingerprint(p) : 0;
    bool changed = HONE_TRY(pass.run(p));
    known = changed ? std::nullopt : std::optional(before);
    HONE_BUG_IF(!changed && fingerprint(p) != before, "pass {} says unchanged, but {} changed",
                pass.name, p.name);
    if (changed) {
      p.compact();
      Status ok = verify(p);
      HONE_BUG_IF(!ok.ok(), "after pass {}: {}", pass.name, ok.error().text());
      HONE_BUG_IF(placement && numeric_fingerprint(p) != numbers,
                  "pass {} places values, but changed what {} computes", pass.name, p.name);
      if (options.dump) options.dump(pass.name, p);
    }
    const double took_ms = (system_clock().seconds() - start) * 1e3;
    records.push_back({pass.name, changed, took_ms, p.nodes.size()});
  }
  return records;
}

}  // namespace hone

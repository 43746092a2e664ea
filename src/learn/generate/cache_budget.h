// The memory of a KV cache, as the planner counts it.
//
//   CacheLimits limits{.rows = 32, .tokens = 2048, .longest_prompt = 2048};
//   limits = HONE_TRY(fit_cache(config, limits, {.arena_bytes = usable_bytes(backend.spec())}, backend));
//   Session s = HONE_TRY(Session::compile(HONE_TRY(build_cached_programs(config, limits)), backend));
//   // s.plan().arena_bytes() is at most the budget
#pragma once

#include <limits>

#include "engine/device/backend.h"
#include "learn/generate/programs.h"

namespace hone {

// Device memory of the programs of some limits, in bytes.
struct CachePlan {
  int64_t arena_bytes = 0;    // the whole arena: weights, cache, values of a program
  int64_t cache_bytes = 0;    // keys and values of all pages, those of sources included; states
  int64_t carried_bytes = 0;  // the states that layers carry, of the cache
};
// Plans the programs with the backend's kernels and allocates nothing. Errors of build_cached_programs and lower().
Result<CachePlan> plan_cache(const ModelConfig& config, const CacheLimits& limits,
                             const Backend& backend);

// The most that a plan may take.
struct CacheBudget {
  int64_t arena_bytes = std::numeric_limits<int64_t>::max();
  int64_t cache_bytes = std::numeric_limits<int64_t>::max();
};
// `wanted` with as many pages as the budget holds, and never more than `wanted` has. `sequences` of the longest length
// and one source always find pages, even if they exceed cache_bytes. H2506: they exceed arena_bytes.
Result<CacheLimits> fit_cache(const ModelConfig& config, CacheLimits wanted,
                              const CacheBudget& most, const Backend& backend,
                              int64_t sequences = 1);

// The most that a plan may take on the device: a GPU's memory without context and libraries, or what this process may
// hold.
int64_t usable_bytes(const DeviceSpec& device);

}  // namespace hone

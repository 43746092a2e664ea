// Computes the memory that generation with a KV cache takes, and chooses the number of cache pages for a memory limit.
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

// The device memory of the programs for given limits, in bytes.
struct CachePlan {
  int64_t arena_bytes = 0;    // total: weights, cache and intermediate values of a program
  int64_t cache_bytes = 0;    // keys and values of all pages (encoder sources too), carried states
  int64_t carried_bytes = 0;  // the part of cache_bytes for carried states (programs.h)
};
// Plans the programs for the backend; allocates nothing. Errors: those of build_cached_programs() and of
// Session::compile().
Result<CachePlan> plan_cache(const ModelConfig& config, const CacheLimits& limits,
                             const Backend& backend);

// The most memory that a plan may take, in bytes.
struct CacheBudget {
  int64_t arena_bytes = std::numeric_limits<int64_t>::max();
  int64_t cache_bytes = std::numeric_limits<int64_t>::max();
};
// Returns `wanted` with its numbers of pages reduced until the plan fits into `most`. There are always enough pages
// for `sequences` sequences of wanted.tokens tokens and for one source, even if these pages exceed most.cache_bytes.
// H2506: the plan with only these pages exceeds most.arena_bytes.
Result<CacheLimits> fit_cache(const ModelConfig& config, CacheLimits wanted,
                              const CacheBudget& most, const Backend& backend,
                              int64_t sequences = 1);

// The memory that a plan may take on the device, in bytes. For a device with its own memory: that memory minus the
// memory of the runtime (context and libraries). Else: the host memory that this process may still use.
int64_t usable_bytes(const DeviceSpec& device);

}  // namespace hone

#include "learn/generate/cache_budget.h"

#include <algorithm>

#include "base/core/memory.h"
#include "base/core/text.h"
#include "engine/backends/null/null.h"
#include "engine/session/session.h"
#include "learn/generate/errors.h"

namespace hone {
namespace {

int64_t all_pages(const CacheLimits& l) { return l.pages() + l.source_pages(); }

// By how much a plan exceeds the budget; at most 0: it fits.
int64_t excess(const CachePlan& plan, const CacheBudget& most) {
  return std::max(plan.arena_bytes - most.arena_bytes, plan.cache_bytes - most.cache_bytes);
}

// `least` with more pages, at most those of `wanted`. Up to half of them are for sources.
CacheLimits with_more_pages(const CacheLimits& least, const CacheLimits& wanted, int64_t more) {
  CacheLimits l = least;
  const int64_t for_sources = std::min(wanted.source_pages() - least.source_pages(), more / 2);
  l.most_source_pages += for_sources;
  l.most_pages += std::min(wanted.pages() - least.pages(), more - for_sources);
  return l;
}

}  // namespace

Result<CachePlan> plan_cache(const ModelConfig& config, const CacheLimits& limits,
                             const Backend& backend) {
  const NullBackend planner(&backend);
  std::vector<Program> programs = HONE_TRY(build_cached_programs(config, limits));
  const Session session = HONE_TRY(Session::compile(std::move(programs), planner));
  CachePlan plan;
  plan.arena_bytes = session.plan().arena_bytes();
  for (const StateSlot& s : session.plan().states)
    if (s.role == Role::cache) {
      plan.cache_bytes += s.type.bytes();
      if (s.name.starts_with(kCarriedState)) plan.carried_bytes += s.type.bytes();
    }
  return plan;
}

Result<CacheLimits> fit_cache(const ModelConfig& config, CacheLimits wanted,
                              const CacheBudget& most, const Backend& backend, int64_t sequences) {
  if (excess(HONE_TRY(plan_cache(config, wanted, backend)), most) <= 0) return wanted;
  CacheLimits least = wanted;
  least.most_pages = std::min(sequences * wanted.blocks(), wanted.pages());
  least.most_source_pages = std::min(wanted.source_blocks(), wanted.source_pages());
  const CachePlan smallest = HONE_TRY(plan_cache(config, least, backend));
  if (smallest.arena_bytes > most.arena_bytes)
    return Error(err::kCacheTooLarge,
                 fmt::format("the model with a cache for {} of {} tokens needs {}, {} may be used",
                             sequences == 1 ? "a sequence" : fmt::format("{} sequences", sequences),
                             wanted.tokens, format_bytes(smallest.arena_bytes),
                             format_bytes(std::max<int64_t>(most.arena_bytes, 0))))
        .todo("ask for a shorter length or fewer sequences, or keep the weights in fewer bits");
  const int64_t page_bytes = (smallest.cache_bytes - smallest.carried_bytes) / all_pages(least);
  if (page_bytes == 0) return least;  // no layer has pages
  // The arena is whole huge pages, so a first answer may be some pages too large.
  for (int64_t more = -excess(smallest, most) / page_bytes; more > 0;) {
    const CacheLimits l = with_more_pages(least, wanted, more);
    const int64_t over = excess(HONE_TRY(plan_cache(config, l, backend)), most);
    if (over <= 0) return l;
    more -= (over + page_bytes - 1) / page_bytes;
  }
  return least;
}

int64_t usable_bytes(const DeviceSpec& device) {
  return device.own_memory ? device.memory_bytes - device.runtime_bytes
                           : read_memory().usable_bytes();
}

}  // namespace hone

#include "engine/backends/cuda/emulator/races.h"

#include <algorithm>

namespace hone::cuda::fake {

void Clock::step(size_t actor) {
  if (counts_.size() <= actor) counts_.resize(actor + 1);
  ++counts_[actor];
}

void Clock::join(const Clock& other) {
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
  for (size_t i = 0; i < other.counts_.size(); ++i)
    counts_[i] = std::max(counts_[i], other.counts_[i]);
}

void Races::split(uintptr_t at) {
  auto next = segments_.upper_bound(at);
  if (next == segments_.begin()) return;
  auto& [begin, segment] = *std::prev(next);
  if (begin == at || segment.end <= at) return;
  segments_.emplace_hint(next, at, segment);
  segment.end = at;
}

std::vector<Conflict> Races::access(const Access& access, const std::shared_ptr<const Doer>& doer,
                                    const Clock& clock) {
  std::vector<Conflict> conflicts;
  const auto begin = reinterpret_cast<uintptr_t>(access.at);
  const uintptr_t end = begin + static_cast<uintptr_t>(access.bytes);
  if (begin == end) return conflicts;
  split(begin);
  split(end);
  const Mark mark{doer, clock.of(doer->actor)};
  uintptr_t at = begin;  // what is done
  auto it = segments_.lower_bound(begin);
  while (it != segments_.end() && it->first < end) {
    const uintptr_t from = it->first;
    Segment& s = it->second;
    if (!s.write.before(clock)) conflicts.push_back({s.write.doer, true, from, s.end});
    if (access.writes) {
      for (const Mark& r : s.reads)
        if (!r.before(clock)) conflicts.push_back({r.doer, false, from, s.end});
      it = segments_.erase(it);
      continue;
    }
    if (at < from) segments_.emplace_hint(it, at, Segment{from, {}, {mark}});
    at = s.end;
    const auto mine = std::find_if(s.reads.begin(), s.reads.end(),
                                   [&](const Mark& r) { return r.doer->actor == doer->actor; });
    if (mine == s.reads.end())
      s.reads.push_back(mark);
    else
      *mine = mark;
    ++it;
  }
  if (access.writes)
    segments_.emplace(begin, Segment{end, mark, {}});
  else if (at < end)
    segments_.emplace(at, Segment{end, {}, {mark}});
  return conflicts;
}

void Races::forget(const void* at, int64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(at);
  const uintptr_t end = begin + static_cast<uintptr_t>(bytes);
  split(begin);
  split(end);
  segments_.erase(segments_.lower_bound(begin), segments_.lower_bound(end));
}

}  // namespace hone::cuda::fake

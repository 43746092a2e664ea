// Reads and writes states of a session that programs keep as halves.
#include <algorithm>

#include "engine/device/disk_io.h"
#include "engine/session/halved_states.h"
#include "engine/session/session.h"

namespace hone {

// The numbers of a range of a state's bytes in f32, which begins and ends at whole numbers.
Session::HalvedRange Session::halved_range(std::string_view name, const StateRange& range) const {
  const StateSlot& s = state_slot(name);
  const int64_t all = s.type.bytes(), end = range.bytes < 0 ? all : range.begin + range.bytes;
  HONE_BUG_IF(!s.shard.whole() || range.begin < 0 || range.begin > end || end > all ||
                  range.begin % 4 != 0 || end % 4 != 0,
              "bytes {} to {} of '{}', which is kept as halves of {} bytes", range.begin, end, name,
              all);
  return {at(s), at(s) + all / 2, range.begin / 4, end / 4};
}

Status Session::read_halves(std::string_view name, const StateRange& range, StateSink sink) const {
  const HalvedRange r = halved_range(name, range);
  const int64_t most = std::min(kStateBlock / 4, r.end - r.begin);
  std::vector<uint16_t> upper(static_cast<size_t>(most)), lower = upper;
  const DiskBuffer block = make_disk_buffer(4 * most);
  for (int64_t first = r.begin; first < r.end; first += most) {
    const int64_t count = std::min(most, r.end - first);
    queue().copy(upper.data(), r.upper + 2 * first, 2 * count);
    queue().copy(lower.data(), r.lower + 2 * first, 2 * count);
    queue().finish();
    HONE_TRY(check());
    pool().parallel_for(count, [&](int64_t begin, int64_t end, int) {
      join_halves(upper.data() + begin, lower.data() + begin, end - begin, block.get() + 4 * begin);
    });
    HONE_TRY(sink({block.get(), static_cast<size_t>(4 * count)}));
  }
  return Ok{};
}

Status Session::write_halves(std::string_view name, const StateRange& range, StateSource source,
                             int64_t most_bytes) {
  const HalvedRange r = halved_range(name, range);
  const int64_t most =
      std::min(std::clamp<int64_t>(most_bytes / 4, 1, kStateBlock / 4), r.end - r.begin);
  std::vector<uint16_t> upper(static_cast<size_t>(most)), lower = upper;
  const DiskBuffer block = make_disk_buffer(4 * most);
  for (int64_t first = r.begin; first < r.end; first += most) {
    const int64_t count = std::min(most, r.end - first);
    HONE_TRY(source({block.get(), static_cast<size_t>(4 * count)}));
    pool().parallel_for(count, [&](int64_t begin, int64_t end, int) {
      split_halves(block.get() + 4 * begin, end - begin, upper.data() + begin,
                   lower.data() + begin);
    });
    queue().copy(r.upper + 2 * first, upper.data(), 2 * count);
    queue().copy(r.lower + 2 * first, lower.data(), 2 * count);
    queue().finish();
    HONE_TRY(check());
  }
  return Ok{};
}

}  // namespace hone

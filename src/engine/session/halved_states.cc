#include "engine/session/halved_states.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "engine/device/disk_io.h"
#include "engine/graph/halves.h"
#include "engine/graph/op.h"
#include "engine/session/session.h"

namespace hone {
namespace {

bool is_listed(const Node& n, size_t k) {
  const std::vector<int64_t> all = n.attrs.integers("halves");
  return std::find(all.begin(), all.end(), static_cast<int64_t>(k)) != all.end();
}

bool reads_halves(const Node& n, size_t operand) {
  if (n.op->name == "upper_half") return true;
  return n.op->name == "halves" ? n.attrs.flag("joined") : is_listed(n, operand);
}

}  // namespace

void add_halved_states(const Program& p, std::set<std::string, std::less<>>& names) {
  std::map<ValueId, std::string> states;
  for (const State& s : p.states) states[s.value] = s.name;
  for (const Node& n : p.nodes)
    for (size_t i = 0; i < n.in.size(); ++i)
      if (const auto found = states.find(n.in[i]); found != states.end() && reads_halves(n, i))
        names.insert(found->second);
}

bool makes_halves(const Node& n, size_t k) {
  return n.op->name == "halves" ? !n.attrs.flag("joined") : is_listed(n, k);
}

void join_halves(const uint16_t* upper, const uint16_t* lower, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; ++i) {
    const float x = joined({upper[i], lower[i]});
    std::memcpy(to + 4 * i, &x, sizeof x);
  }
}

void split_halves(const std::byte* from, int64_t count, uint16_t* upper, uint16_t* lower) {
  for (int64_t i = 0; i < count; ++i) {
    float x;
    std::memcpy(&x, from + 4 * i, sizeof x);
    const Halves h = halves_of(x);
    upper[i] = h.upper;
    lower[i] = h.lower;
  }
}

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

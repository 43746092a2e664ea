#include "learn/checkpoint/state_tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "learn/checkpoint/ranges.h"

namespace hone {

TensorData state_tensor(const Session& session, const std::string& state, std::string name) {
  TensorData t{std::move(name), session.state_type(state), {}, {}};
  t.blocks = [&session, state](BlockSink sink) { return session.read_state(state, {}, sink); };
  if (t.type.shape.empty() || t.type.shape[0] == 0) return t;
  const int64_t row = t.type.bytes() / t.type.shape[0];
  t.rows = [&session, state, row](int64_t begin, int64_t end, BlockSink sink) {
    return session.read_state(state, {begin * row, (end - begin) * row}, sink);
  };
  return t;
}

std::optional<RowRange> cut_rows(const Session& session, const std::string& state) {
  for (const StateSlot& slot : session.plan().states) {
    if (slot.tensor() != state || slot.shard.whole()) continue;
    const RowRange held = slot.shard.held_rows();
    return held.count() < slot.shard.rows ? std::optional(held) : std::nullopt;
  }
  return {};
}

namespace {

// The bytes of some rows of a tensor.
StateRange bytes_of_rows(const Type& type, const RowRange& rows) {
  const int64_t row = type.bytes() / type.shape[0];
  return {rows.begin * row, rows.count() * row};
}

}  // namespace

bool is_divided(const Session& session, const std::string& state) {
  return session.parts_of(state) != nullptr || cut_rows(session, state).has_value();
}

namespace {

// Rows of this session's part of a tensor, which are `rows` of the part.
TensorData part_tensor(const Session& session, const std::string& state, std::string name,
                       const RowRange& rows) {
  TensorData t{std::move(name), session.part_type(state), {}, {}};
  const StateRange range = bytes_of_rows(t.type, rows);
  t.type.shape[0] = rows.count();
  t.blocks = [&session, state, range](BlockSink sink) {
    return session.read_state(state, range, sink);
  };
  return t;
}

}  // namespace

std::vector<TensorData> held_tensors(const Session& session, const std::string& state) {
  const AxisParts* parts = session.parts_of(state);
  const std::optional<RowRange> cut = cut_rows(session, state);
  if (parts == nullptr) return {part_tensor(session, state, range_name(state, *cut), *cut)};
  const RowRange held = cut.value_or(RowRange{0, session.part_type(state).shape[0]});
  if (held.count() == 0) return {};
  if (parts->axis != 0)
    return {part_tensor(session, state, range_name(state, held, parts->ranges), held)};
  std::vector<TensorData> tensors;
  int64_t before = 0;  // rows of the part
  for (const RowRange& r : parts->ranges) {
    const RowRange some{std::max(held.begin, before), std::min(held.end, before + r.count())};
    if (some.begin < some.end) {
      const RowRange of_whole{r.begin + some.begin - before, r.begin + some.end - before};
      tensors.push_back(part_tensor(session, state, range_name(state, of_whole), some));
    }
    before += r.count();
  }
  return tensors;
}

int64_t copied_bytes(const Type& type) {
  constexpr int64_t kAlignment = 64;
  return (type.bytes() + kAlignment - 1) / kAlignment * kAlignment;
}

Result<std::span<std::byte>> copy_tensors(const Session& session, std::span<TensorData> tensors,
                                          std::span<std::byte> memory) {
  for (TensorData& t : tensors) {
    const auto taken = static_cast<size_t>(copied_bytes(t.type));
    HONE_BUG_IF(taken > memory.size(), "no room for a copy of '{}': {} bytes of {}", t.name,
                memory.size(), taken);
    const auto to = memory.first(static_cast<size_t>(t.type.bytes()));
    if (session.host_reads(t.name)) {
      size_t at = 0;
      HONE_TRY(session.read_state(t.name, {}, [&](std::span<const std::byte> block) -> Status {
        std::memcpy(to.data() + at, block.data(), block.size());
        at += block.size();
        return Ok{};
      }));
    } else {
      session.read_state(t.name, to);
      HONE_TRY(session.check());
    }
    t.bytes = to;
    t.blocks = nullptr;
    t.rows = nullptr;
    memory = memory.subspan(taken);
  }
  return memory;
}

Status load_state(Session& session, const std::string& state, const WeightSource& from,
                  const std::string& tensor) {
  const Type type = session.state_type(state);
  const DType as = type.dtype;
  // The source gives all elements of a tensor in parts: the session keeps its own elements.
  const std::optional<RowRange> rows =
      session.parts_of(state) != nullptr ? std::nullopt : cut_rows(session, state);
  const StateRange range = rows ? bytes_of_rows(type, *rows) : StateRange();
  int64_t first = range.begin / size_of(as);  // element
  return session.write_state(
      state, range,
      [&](std::span<std::byte> to) {
        const auto count = static_cast<int64_t>(to.size()) / size_of(as);
        return from.read_range(tensor, as, std::exchange(first, first + count), to);
      },
      std::numeric_limits<int64_t>::max());  // as much at once as is in one place
}

}  // namespace hone

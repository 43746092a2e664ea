#include "learn/checkpoint/state_tensor.h"

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

TensorData rows_tensor(const Session& session, const std::string& state, const RowRange& rows) {
  TensorData t{range_name(state, rows), session.state_type(state), {}, {}};
  const StateRange range = bytes_of_rows(t.type, rows);
  t.type.shape[0] = rows.count();
  t.blocks = [&session, state, range](BlockSink sink) {
    return session.read_state(state, range, sink);
  };
  return t;
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
  const std::optional<RowRange> rows = cut_rows(session, state);
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

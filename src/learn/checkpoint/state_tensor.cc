#include "learn/checkpoint/state_tensor.h"

#include <limits>
#include <utility>

namespace hone {

TensorData state_tensor(const Session& session, const std::string& state, std::string name) {
  TensorData t{std::move(name), session.state_type(state), {}, {}};
  t.blocks = [&session, state](BlockSink sink) { return session.read_state(state, {}, sink); };
  return t;
}

Status load_state(Session& session, const std::string& state, const WeightSource& from,
                  const std::string& tensor) {
  const DType as = session.state_type(state).dtype;
  int64_t first = 0;  // element
  return session.write_state(
      state, {},
      [&](std::span<std::byte> to) {
        const auto count = static_cast<int64_t>(to.size()) / size_of(as);
        return from.read_range(tensor, as, std::exchange(first, first + count), to);
      },
      std::numeric_limits<int64_t>::max());  // as much at once as is in one place
}

}  // namespace hone

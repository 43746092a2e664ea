#include "learn/checkpoint/state_tensor.h"

#include <limits>

namespace hone {

TensorData state_tensor(const Session& session, const std::string& state, std::string name) {
  TensorData t{std::move(name), session.state_slot(state).type, {}, {}};
  t.blocks = [&session, state](BlockSink sink) { return session.read_state(state, {}, sink); };
  return t;
}

Status load_state(Session& session, const std::string& state, const WeightSource& from,
                  const std::string& tensor) {
  const DType as = session.state_slot(state).type.dtype;
  return session.write_state(
      state, {}, [&](std::span<std::byte> to) { return from.read(tensor, as, to); },
      std::numeric_limits<int64_t>::max());  // a tensor is read as a whole
}

}  // namespace hone

#include "learn/harness/port_batch.h"

namespace hone {

Batch inputs_of(Session& session, size_t program) {
  Batch batch;
  for (const Named& n : session.programs()[program].inputs)
    batch.add(n.name, session.input_bytes(program, n.name));
  return batch;
}

Batch outputs_of(const Session& session, size_t program) {
  Batch batch;
  for (const Named& n : session.programs()[program].outputs) {
    const auto bytes = session.output_bytes(program, n.name);
    batch.add(n.name, {const_cast<std::byte*>(bytes.data()), bytes.size()});
  }
  return batch;
}

}  // namespace hone

// Copies values between the states of a session, which may be on a device, and files of tensors.
#pragma once

#include "engine/session/session.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// A state as a tensor to write under that name; the session must outlive it.
TensorData state_tensor(const Session& session, const std::string& state, std::string name);

// Bytes that copy_tensors() takes for a tensor.
int64_t copied_bytes(const Type& type);
// Copies tensors of the session's states into `memory`, one after another, and lets them be read
// from there. Returns the rest of `memory`. A state that the host can read (Session::host_reads) is
// copied on this thread, at the same time as programs that do not change it; any other by the
// device. Errors: H1323.
Result<std::span<std::byte>> copy_tensors(const Session& session, std::span<TensorData> tensors,
                                          std::span<std::byte> memory);

// Fills a state of the tensor's shape with its values, as the state's elements. Errors are those
// of WeightSource::read.
Status load_state(Session& session, const std::string& state, const WeightSource& from,
                  const std::string& tensor);

}  // namespace hone

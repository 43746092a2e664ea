// Copies values between the states of a session, which may be on a device, and files of tensors.
#pragma once

#include "engine/session/session.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// A state as a tensor to write under that name; the session must outlive it.
TensorData state_tensor(const Session& session, const std::string& state, std::string name);

// The rows of a state's tensor that this session holds, if other ranks hold the others; none: it holds
// all of them.
std::optional<RowRange> cut_rows(const Session& session, const std::string& state);

// Whether other ranks have other elements of the state's tensor.
bool is_divided(const Session& session, const std::string& state);
// The elements of such a tensor that this session holds, as tensors to write under the names of ranges.
std::vector<TensorData> held_tensors(const Session& session, const std::string& state);

// Bytes that copy_tensors() takes for a tensor.
int64_t copied_bytes(const Type& type);
// Copies tensors of the session's states into `memory`, one after another, and lets them be read
// from there. Returns the rest of `memory`. A state that the host can read (Session::host_reads) is
// copied on this thread, at the same time as programs that do not change it; any other by the
// device. Errors: H1323.
Result<std::span<std::byte>> copy_tensors(const Session& session, std::span<TensorData> tensors,
                                          std::span<std::byte> memory);

// Fills a state of the tensor's shape with its values, as the state's elements; the rows that the session
// holds. Errors are those of WeightSource::read.
Status load_state(Session& session, const std::string& state, const WeightSource& from,
                  const std::string& tensor);

}  // namespace hone

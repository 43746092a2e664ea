// Copies values between the states of a session, which may be in a device's memory, and files of tensors. In a run of
// several ranks, a session may hold only a part of a state's tensor.
#pragma once

#include "engine/session/session.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// The state `state` as a tensor to write under the name `name`. The state is read only when the tensor is written; the
// session must outlive the result.
TensorData state_tensor(const Session& session, const std::string& state, std::string name);

// The rows of the state's tensor that this session holds, if other ranks hold further rows; none: it holds all rows.
std::optional<RowRange> cut_rows(const Session& session, const std::string& state);

// Whether this session holds only a part of the state's tensor: some rows, or some parts of an axis.
bool is_divided(const Session& session, const std::string& state);
// For a divided state: the elements that this session holds, as tensors to write, under the names of ranges
// (ranges.h).
std::vector<TensorData> held_tensors(const Session& session, const std::string& state);

// The number of bytes of `memory` that copy_tensors() takes for a tensor of this type.
int64_t copied_bytes(const Type& type);
// Copies states into `memory`, one after another, and changes `tensors` (from state_tensor(), under the names of their
// states) so that they read the copies. Returns the rest of `memory`. A state that the host can read
// (Session::host_reads) is copied on this thread; programs that do not change it may run at the same time. Any other
// state is copied by the device. H1323: a disk that holds states fails. Other failures of the device: see
// Session::check().
Result<std::span<std::byte>> copy_tensors(const Session& session, std::span<TensorData> tensors,
                                          std::span<std::byte> memory);

// Fills the state with the values of the tensor `tensor` of `from`, converted to the state's element type. The tensor
// must have the state's whole shape; the session reads the part that it holds. Errors: those of WeightSource::read.
Status load_state(Session& session, const std::string& state, const WeightSource& from,
                  const std::string& tensor);

}  // namespace hone

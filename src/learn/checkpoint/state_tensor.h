// Between the states of a session, which may be on a device, and files of tensors.
#pragma once

#include "engine/session/session.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// A state as a tensor to write under that name; the session must outlive it.
TensorData state_tensor(const Session& session, const std::string& state, std::string name);

// Fills a state of the tensor's shape with its values, as the state's elements. Errors are those
// of WeightSource::read.
Status load_state(Session& session, const std::string& state, const WeightSource& from,
                  const std::string& tensor);

}  // namespace hone

// The CPU's kernels on memory that host code may not touch: what a device with memory of its own
// asks of the engine and the tasks, on a machine that has none.
#pragma once

#include <memory>

#include "engine/device/backend.h"

namespace hone {

// Wraps a backend of the host. An address of far memory is reserved and never mapped: host code
// that reads or writes it dies at once. Kernels and copies of its queue reach the bytes.
std::unique_ptr<Backend> make_far_backend(std::unique_ptr<Backend> host);

}  // namespace hone

// The CPU's kernels on memory that host code may not touch. Tests use it on machines without a GPU:
// engine and tasks must treat it like a device with memory of its own.
#pragma once

#include <memory>

#include "engine/device/backend.h"

namespace hone {

// Wraps a backend of the host. An address of far memory is reserved and never mapped: host code
// that reads or writes it dies at once. Kernels and copies of its queue reach the bytes.
std::unique_ptr<Backend> make_far_backend(std::unique_ptr<Backend> host);

}  // namespace hone

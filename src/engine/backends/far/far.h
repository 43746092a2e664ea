// A backend that runs the CPU's kernels on memory that other host code cannot touch. Tests use it on machines
// without a GPU: code that forgets to copy between host and device memory crashes.
#pragma once

#include <memory>

#include "engine/device/backend.h"

namespace hone {

// Wraps a backend whose device is the host. Addresses of device memory are reserved but never mapped, so host code
// that reads or writes them gets a segmentation fault. Only the kernels and copies of the device's queues reach the
// bytes.
std::unique_ptr<Backend> make_far_backend(std::unique_ptr<Backend> host);

}  // namespace hone

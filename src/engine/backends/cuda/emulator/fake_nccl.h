// An NCCL whose messages are work of the fake driver's streams. The driver checks the memory that messages
// read and write, and their order. A Group of hone carries the bytes between the ranks. Ranks are
// processes, each with a fake driver, or threads that call carried_exchange().
#pragma once

#include "engine/backends/cuda/libraries/nccl.h"
#include "engine/comm/group.h"

namespace hone::cuda {

Nccl fake_nccl();
// The group that carries the messages of communicators made from now on. It must outlive the communicators. Null: no
// communicator can be made.
inline Group* fake_nccl_carrier = nullptr;

// Exchanges messages over the carrier. Each pair of ranks first compares the number and the sizes of their messages.
// Errors: H1504 they differ; errors of the carrier.
Status carried_exchange(Group& carrier, std::span<const Send> sends,
                        std::span<const Receive> receives);

}  // namespace hone::cuda

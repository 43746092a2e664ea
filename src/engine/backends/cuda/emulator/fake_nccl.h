// An NCCL that works on the streams of the fake driver, which checks the memory that messages read and
// write, and their order. Another group carries the bytes, so the ranks may be processes, each with a
// fake driver, or threads that call carried_exchange().
#pragma once

#include "engine/backends/cuda/libraries/nccl.h"
#include "engine/comm/group.h"

namespace hone::cuda {

Nccl fake_nccl();
// Carries the messages of communicators that are made from now on; must outlive them. Null: none.
inline Group* fake_nccl_carrier = nullptr;

// Exchanges the messages of a group of sends and receives. Each pair of ranks compares the number and the sizes of
// its messages first. Errors: H1504 they differ, those of the carrier.
Status carried_exchange(Group& carrier, std::span<const Send> sends,
                        std::span<const Receive> receives);

}  // namespace hone::cuda

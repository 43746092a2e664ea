// Gives each rank of this host one GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// The UUIDs of the GPUs of this host that CUDA_VISIBLE_DEVICES lets this process use, in NVML's order (the PCI bus).
// Empty without NVIDIA's driver.
std::vector<std::string> gpu_uuids();

// The entries of CUDA_VISIBLE_DEVICES before the first one that is neither a number nor a UUID: CUDA ignores the
// rest. nullopt: the variable is not set.
std::optional<std::vector<std::string>> visible_devices();

// The value of CUDA_VISIBLE_DEVICES for each rank. `visible` is from visible_devices(): its entries are passed on
// unchanged, because only CUDA knows the order of its numbers. If `visible` is nullopt, the values are from `uuids`.
// Empty: leave the variable as it is, because there are no GPUs, or fewer than ranks and `wants_gpus` is false.
// Error H3181: there are fewer GPUs than ranks, and `wants_gpus` is true.
Result<std::vector<std::string>> share_gpus(const std::optional<std::vector<std::string>>& visible,
                                            const std::vector<std::string>& uuids, int ranks,
                                            bool wants_gpus);

}  // namespace hone

// Gives each rank of this host one GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// The UUIDs of the GPUs of this host, in the order of the PCI bus; empty without NVIDIA's driver.
std::vector<std::string> gpu_uuids();

// The words of CUDA_VISIBLE_DEVICES up to the first that names no device, as CUDA reads it; none: it is
// not set.
std::optional<std::vector<std::string>> visible_devices();

// CUDA_VISIBLE_DEVICES of each rank: a word of ours unchanged, because only CUDA knows the order of
// numbers, else a UUID. Empty: nothing to set, there are no GPUs, or too few for ranks that do not
// need one. Error H3181: too few for ranks that need one.
Result<std::vector<std::string>> share_gpus(const std::optional<std::vector<std::string>>& visible,
                                            const std::vector<std::string>& uuids, int ranks,
                                            bool wants_gpus);

}  // namespace hone

// The backend of PJRT plug-ins: TPUs, and the CPU for tests. It takes whole programs:
// composites by their decompositions, each program as one StableHLO module.
#pragma once

#include "engine/backends/xla/plugin.h"
#include "engine/device/backend.h"

namespace hone::xla {

struct BackendSettings {
  std::string name;  // of the backend and of its device
  Platform platform = Platform::cpu;
  int threads = 0;  // of the host
  int ordinal = 0;  // of the device
};

// Errors: H1361, H1362, H1363. Its choose() and kernel() decline nodes by H1401.
Result<std::unique_ptr<Backend>> open_backend(const BackendSettings& settings);

// Programs that this backend has compiled so far.
int64_t compiles_of(const Backend& backend);

}  // namespace hone::xla

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
  // With several ranks, which are threads of this process, `ordinal` is this one's number. Each opens a
  // backend, and programs with collectives run on the devices of all (together.h).
  int ranks = 1;
  std::string cache = "";   // folder for compiled programs; "": they are not kept
  double keep_after_s = 1;  // programs whose compilation took less are not kept
};

// Errors: H1361, H1362, H1363. Its choose() and kernel() decline nodes by H1401.
Result<std::unique_ptr<Backend>> open_backend(const BackendSettings& settings);

// Accepts the nodes of a plan: the primitives that are written, collectives too.
Result<Choice> choose_planned(const NodeView& n);

// Opens libtpu and counts the TPUs (cores of v2 and v3) that this process may use. H1361, H1362, H1363.
Result<int> tpus_here(const std::string& cache);

// Programs that this backend has compiled so far.
int64_t compiles_of(const Backend& backend);
int64_t loads_of(const Backend& backend);  // from the folder

}  // namespace hone::xla

// The backend of PJRT plug-ins: TPUs, and the CPU for tests. It compiles whole programs, each as one
// StableHLO module. Most composite ops are decomposed first.
#pragma once

#include "engine/backends/xla/plugin.h"
#include "engine/device/backend.h"

namespace hone::xla {

struct BackendSettings {
  std::string name;  // the name of the backend and of its device: "tpu", "xla_cpu"
  Platform platform = Platform::cpu;
  int threads = 0;  // host threads; 0: all that this process may use
  int ordinal = 0;  // number of the device, from 0, in the plug-in's order
  // Number of ranks that run as threads of this process. With more than 1, each rank opens a backend with its own
  // number as `ordinal`, and programs with collectives run on the devices of all ranks (together.h).
  int ranks = 1;
  std::string cache = "";   // folder for compiled programs; "": they are not kept
  double keep_after_s = 1;  // programs that compile in fewer seconds are not kept
};

// Opens the backend. choose() and kernel() decline nodes with H1401. Errors: H1361 there is no usable plug-in, H1362
// there is no such device, H1363 the plug-in fails.
Result<std::unique_ptr<Backend>> open_backend(const BackendSettings& settings);

// Backend::choose() for a plan, without a device: accepts the ops that can be written in StableHLO, collectives too.
// H1401: the op must be decomposed first, or is not supported.
Result<Choice> choose_planned(const NodeView& n);

// Opens libtpu and counts the TPUs that this process may use (cores of v2 and v3, chips of later ones). cache: as in
// BackendSettings. Errors: those of open_backend().
Result<int> tpus_here(const std::string& cache);

// compiles_of: the number of programs that the backend has compiled so far. loads_of: the number of programs that it
// has loaded from the cache folder instead. A Bug if `backend` is not one that open_backend() opens.
int64_t compiles_of(const Backend& backend);
int64_t loads_of(const Backend& backend);

}  // namespace hone::xla

// The shelf of backends: those that run programs here, and the devices that hone can plan for.
//
//   const std::unique_ptr<Backend> cpu = HONE_TRY(open_backend("cpu", {.threads = 4}));
//   const std::unique_ptr<Backend> gpu = HONE_TRY(plan_backend(h100));   // computes nothing
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/backends/null/null.h"

namespace hone {

struct BackendOptions {
  int threads = 0;       // of the host; 0: all that this process may use
  std::string isa = "";  // instruction set of a CPU; "": the best, or what HONE_CPU_ISA says
  int ordinal = 0;       // of a GPU, in the order of its driver
  // Ranks that are threads of this process, each with a device of its own: `ordinal` is this one's number.
  int ranks = 1;
};

// One file of this folder.
struct BackendKind {
  std::string name;   // of --device
  std::string about;  // one line for help and `hone doctor`
  // Null: it cannot compute in this build.
  Result<std::unique_ptr<Backend>> (*open)(const BackendOptions&) = nullptr;
  // The devices that it can plan for, which need not be here; null: none.
  std::vector<DeviceSpec> (*devices)(const BackendOptions&) = nullptr;
  Chooser (*chooser)(const DeviceSpec&) = nullptr;  // for `devices`
  Joiner join = nullptr;                            // for `devices` too
  bool needs_device = false;                        // one that not every machine has
  // The rank for "auto", which opens the usable backend of the highest rank; 0: never.
  int auto_rank = 0;
  // The error of a machine without such a device: usual, so "auto" does not warn of it.
  const ErrorCode* absent = nullptr;
  bool numbered = false;  // "name:1" is the second device, BackendOptions::ordinal
  // The number of devices here that ranks of one process divide among themselves; null: such ranks are not
  // supported.
  Result<int> (*devices_here)() = nullptr;
};

const std::vector<BackendKind>& backend_kinds();

// Names that open_backend takes.
std::vector<std::string> backend_names();
std::vector<std::string> portable_backend_names();  // those that any machine can open
std::vector<std::string> device_names();

// A backend of this machine. H1402: no such name, with the nearest; H1402 of a CPU that has no such
// instruction set.
Result<std::unique_ptr<Backend>> open_backend(const std::string& name,
                                              const BackendOptions& options = {});

// A device of this machine as --device names it: a backend, "cuda:1", or "auto", by the backends' ranks: a
// GPU if one opens, else the CPU, with a warning unless there is no driver (H1341). Errors of open_backend
// and of the backend.
Result<std::unique_ptr<Backend>> open_device(const std::string& name,
                                             const BackendOptions& options = {});

// The devices of a run in this process, a rank on each: `asked` of the device that --device names, 0: all
// TPUs of the machine, one of any other kind. H1402: these devices have no ranks in one process. H1362: there
// are fewer.
Result<int> local_ranks_of(const std::string& name, int asked);

// A device, by its name in any case: "H100", or "cpu", this machine. H1402.
Result<DeviceSpec> device_spec(const std::string& name, const BackendOptions& options = {});
// Equal devices in one machine: "8xA100-80GB"; without a count one. H1402.
struct DeviceGroup {
  DeviceSpec device;
  int64_t count = 1;
};
inline constexpr int64_t kMostDevices = 1024;
Result<DeviceGroup> device_group(const std::string& name, const BackendOptions& options = {});
// Chooses kernels of the device for a plan, and computes nothing.
Result<std::unique_ptr<Backend>> plan_backend(const DeviceSpec& spec);
// A backend for planning with the kernels and the device of `like`, which must outlive it.
std::unique_ptr<Backend> plan_backend(const Backend& like);

}  // namespace hone

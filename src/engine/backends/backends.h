// The registry of backends: those that run programs on this machine, and the devices that hone can plan for.
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
  int threads = 0;       // CPU threads; 0: all that this process may use
  std::string isa = "";  // instruction set of the CPU's kernels; "": HONE_CPU_ISA, else the best
  int ordinal = 0;       // number of the GPU or TPU, from 0, in its driver's order
  // Number of ranks that run as threads of this process, each with its own device. With more than 1, `ordinal` is the
  // number of the rank that opens the backend.
  int ranks = 1;
};

// One kind of backend. Each backend_<name>() of this folder returns one.
struct BackendKind {
  std::string name;   // for --device
  std::string about;  // one line for help and `hone doctor`
  // Opens the backend. Null: this build cannot compute with it.
  Result<std::unique_ptr<Backend>> (*open)(const BackendOptions&) = nullptr;
  // Lists the devices that the backend can plan for; this machine need not have them. Null: there are none.
  std::vector<DeviceSpec> (*devices)(const BackendOptions&) = nullptr;
  Chooser (*chooser)(const DeviceSpec&) = nullptr;  // chooses kernels for a device of `devices`
  Joiner join = nullptr;      // Backend::join() for `devices`; null: no nodes are joined
  bool needs_device = false;  // true: needs hardware or a library that a machine may lack
  // --device auto opens the backend with the highest auto_rank of those that work. 0: "auto" never opens this one.
  int auto_rank = 0;
  // The error of a machine that lacks the device. Most machines lack it, so "auto" does not warn of this error. Null:
  // there is no such error.
  const ErrorCode* absent = nullptr;
  // Whether --device takes an ordinal: "name:1" is the second device.
  bool numbered = false;
  // Counts the devices of this machine; each rank of a process takes one. Null: several ranks in one process are not
  // supported.
  Result<int> (*devices_here)() = nullptr;
};

const std::vector<BackendKind>& backend_kinds();  // all kinds of this build

std::vector<std::string> backend_names();           // names that open_backend() accepts
std::vector<std::string> portable_backend_names();  // names of backends that any machine can open
std::vector<std::string> device_names();            // names that device_spec() accepts

// Opens a backend of this machine. Errors: H1402 no backend has the name (the message proposes the nearest name), or
// the CPU lacks the instruction set `isa`; and the errors of the backend itself.
Result<std::unique_ptr<Backend>> open_backend(const std::string& name,
                                              const BackendOptions& options = {});

// Opens the device that --device names: a backend's name, a name with an ordinal ("cuda:1"), or "auto". "auto" opens a
// GPU if one works, else the CPU. It warns of a GPU that fails, unless the machine has no driver (H1341). Errors: those
// of open_backend(); H1402 hone can only plan for this device.
Result<std::unique_ptr<Backend>> open_device(const std::string& name,
                                             const BackendOptions& options = {});

// The number of ranks, each with its own device, that a run starts in this process. `name`: the value of --device.
// `asked` above 0 is returned as it is, and not compared with the devices of this machine. 0 means all TPUs of the
// machine, or 1 for a device other than TPUs. Errors: H1402 `asked` is above 1 and the device does not support several
// ranks in one process; H1361, H1362 and H1363 if counting the TPUs fails.
Result<int> local_ranks_of(const std::string& name, int asked);

// The device of this name in any letter case, such as "H100"; "cpu" is the CPU of this machine. H1402: hone does not
// know the device.
Result<DeviceSpec> device_spec(const std::string& name, const BackendOptions& options = {});
// Equal devices in one machine.
struct DeviceGroup {
  DeviceSpec device;
  int64_t count = 1;
};
inline constexpr int64_t kMostDevices = 1024;
// Parses a name with an optional count: "8xA100-80GB" is 8 devices, "H100" is 1. H1402: hone does not know the device,
// the count is not from 1 to kMostDevices, or the count is above 1 for the CPU.
Result<DeviceGroup> device_group(const std::string& name, const BackendOptions& options = {});
// A backend that chooses the device's kernels for a plan and computes nothing. `spec` must be of a device that a
// backend of this build plans for.
Result<std::unique_ptr<Backend>> plan_backend(const DeviceSpec& spec);
// A backend that chooses the same kernels as `like` for a plan and computes nothing. `like` must outlive it.
std::unique_ptr<Backend> plan_backend(const Backend& like);

}  // namespace hone

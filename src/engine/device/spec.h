// The facts of a device that a plan needs. A spec is plain data, so any machine can plan for any device.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/cost_model.h"
#include "engine/plan/plan.h"

namespace hone {

struct DeviceSpec : Speeds {
  std::string name;          // "cpu", "H100"
  std::string kernels;       // name of the backend that chooses its kernels: "cpu", "cuda"
  int64_t memory_bytes = 0;  // all of its memory
  bool own_memory = false;   // true: its memory is not the host's
  HostLane host_lane = HostLane::none;
  std::string isa;               // instruction set or architecture: "avx512", "sm_90a"
  bool multiplies_bf16 = false;  // in hardware; otherwise bf16 products have the speed of f32
  // True: kernels convert 16-bit values at no cost, so values are kept in 16 bits (passes/narrow_values.h).
  bool keeps_narrow = false;
  // True: a row of a large product has the same bits whichever other rows are computed (passes/divide_rows.h).
  bool rows_apart = false;
  int threads = 1;              // of a CPU
  int64_t workspace_bytes = 0;  // the most scratch of one matrix product; 0: no limit
  int64_t runtime_bytes = 0;    // device memory for code, context and libraries, not in the plan
};

// The GPUs that hone can plan for, with numbers from the maker's data sheets. FLOPs are of dense products; f32 is
// without TF32. memory_bytes is the least that a driver reports. Links are PCIe to the host and, if there is one,
// NVLink to a neighbour. The disk is one NVMe drive: 3 GB/s read, 2 GB/s written.
std::span<const DeviceSpec> known_gpus();

// The known GPU that a driver calls `name`, such as "NVIDIA A100-SXM4-80GB"; null: it is not known.
const DeviceSpec* known_gpu(std::string_view name);

// Sets the facts that follow from a GPU's architecture `isa` ("sm_90a"): whether it multiplies bf16, the scratch of
// products, and the memory of the context, the kernels and the libraries.
void describe_gpu(DeviceSpec& spec, const std::string& isa);

// Bytes of the device's memory that the arenas of a run take. If the device has no memory of its own, the arena of the
// space `host` counts too.
int64_t memory_of(const RunPlan& plan, const DeviceSpec& spec);

}  // namespace hone

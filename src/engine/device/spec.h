// The facts of a device that a plan needs. A spec is plain numbers: any machine can plan for any
// device.
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
  std::string kernels;       // backend that chooses its kernels: "cpu", "cuda"
  int64_t memory_bytes = 0;  // total
  bool own_memory = false;   // apart from the host's
  HostLane host_lane = HostLane::none;
  std::string isa;               // instruction set or architecture: "avx512", "sm_90a"
  bool multiplies_bf16 = false;  // natively; otherwise bf16 products have the speed of f32
  bool keeps_narrow = false;     // kernels read and write 16 bits at no cost (narrow_values)
  bool rows_apart = false;       // a row of a product of many has the same bits beside any others
  int threads = 1;               // of a CPU
  int64_t workspace_bytes = 0;   // largest scratch of one matrix product; 0: no limit
  int64_t runtime_bytes = 0;     // code, context and libraries on the device, outside of the plan
};

// GPUs that hone can plan for, from their maker's data sheets: dense products, f32 without TF32,
// the smallest memory that the driver reports, and links: PCIe to the host, NVLink to a neighbour
// if there is one. A disk is one NVMe drive: 3 GB/s read, 2 GB/s written.
std::span<const DeviceSpec> known_gpus();

// The GPU of a driver's name, such as "NVIDIA A100-SXM4-80GB"; null: none.
const DeviceSpec* known_gpu(std::string_view name);

// Fills in the facts of a GPU's architecture ("sm_90a"): whether it multiplies bf16, and the memory
// of the context, the kernels and the libraries.
void describe_gpu(DeviceSpec& spec, const std::string& isa);

// Bytes of the device's memory in the arenas of a run; if the device is the host, both spaces
// count.
int64_t memory_of(const RunPlan& plan, const DeviceSpec& spec);

}  // namespace hone

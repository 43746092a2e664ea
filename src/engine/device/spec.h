// What a plan must know of a device. A spec is plain numbers: any machine can plan for any device.
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
  std::string kernels;       // the backend whose kernels are chosen for it: "cpu", "cuda"
  int64_t memory_bytes = 0;  // all that it has
  bool own_memory = false;   // apart from the host's
  HostLane host_lane = HostLane::none;
  std::string isa;               // instruction set or architecture: "avx512", "sm_90"
  bool multiplies_bf16 = false;  // itself; elsewhere products in bf16 have the speed of f32
  int threads = 1;               // of a CPU
  int64_t workspace_bytes =
      0;                      // the most scratch that one matrix product may take; 0: what it needs
  int64_t runtime_bytes = 0;  // code, context and libraries on the device, outside of the plan
};

// GPUs that hone can plan for, from the data sheets of their maker: dense products, f32 without
// TF32, the memory that the driver reports at least, and links: PCIe to the host, NVLink to a
// neighbour where there is one. A disk is one NVMe drive: 3 GB/s read, 2 GB/s written.
std::span<const DeviceSpec> known_gpus();

// The one of them that a driver calls "NVIDIA A100-SXM4-80GB"; null: none.
const DeviceSpec* known_gpu(std::string_view name);

// Fills in what follows from a GPU's architecture ("sm_90"): whether it multiplies bf16, and what the
// context, the kernels and the libraries take.
void describe_gpu(DeviceSpec& spec, const std::string& isa);

// The bytes that the arenas of a run take of the device's memory: where it is the host's, those of
// both spaces.
int64_t memory_of(const RunPlan& plan, const DeviceSpec& spec);

}  // namespace hone

// TPUs that hone can plan for, and names of their slices.
#pragma once

#include "engine/device/spec.h"
#include "engine/graph/graph.h"

namespace hone {

// The TPUs that hone can plan for. One device is a core (v2 and v3) or a chip (later generations). FLOPs and
// memory are from N. Jouppi et al. ("A Domain-Specific Supercomputer for Training Deep Neural Networks", 2020; "TPU
// v4", 2023) and cloud.google.com/tpu/docs. An f32 product takes the time of six bf16 products.
// peer_bytes_per_second is the sum of a chip's links to other chips of its slice, in one direction.
// host_bytes_per_second is an estimate from the PCIe version of the time.
std::span<const DeviceSpec> known_tpus();
// A slice of TPU devices.
struct TpuSlice {
  const DeviceSpec* device = nullptr;  // null: the name does not have the form of a slice
  int64_t devices = 0;                 // number of devices; 0: the generation has no such slice
};
// The slice of a name, which is a generation and a number, in upper or lower case. "v2-8" has 8 cores, "v4-8" has 4
// chips of two cores, "v5e-16" (or "v5litepod-16") has 16 chips.
TpuSlice tpu_slice(std::string_view name);
// Whether the value of --device means TPUs: "tpu", "tpu:1", a generation or a slice; a count may come first ("2xv4-8").
bool names_tpus(std::string_view device);
// Whether one host has all devices of the slice: hosts have 4 chips of v2, v3, v4 and v5p, and 8 chips of v5e and v6e.
bool is_of_one_host(const TpuSlice& slice);
// The slice's chips in the notation of libtpu: "v2:2x2", "v4:2x2x1"; "": the number of chips is not a power of two.
std::string topology_of(const TpuSlice& slice);

// Bytes of an array on a TPU, which stores it in tiles of 8 x 128 elements of 32 bits (16 x 128 of 16 bits, 32 x 128 of
// 8 bits). The tiles cover the two dimensions for which padding wastes least; the compiler chooses their order. An
// array of one dimension is padded to a multiple of 128 elements.
int64_t tiled_bytes(const Type& type);

// The smallest number of equal layers that programs for TPUs have as the turns of a loop. A loop compiles faster, and
// takes more device memory for the results that it keeps.
inline constexpr int64_t kFewestLoopLayers = 6;

// Predicts the bytes of a program's machine code, which takes device memory too: a fixed number for each matrix
// product, and one for each kind of product (op and types of operands and results). Layers that are the turns of a loop
// count once. The numbers are fitted to the compiler's output (docs/tpus.md).
int64_t tpu_code_bytes(const Program& program);

}  // namespace hone

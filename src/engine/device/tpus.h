// TPUs that hone can plan for, and names of their slices.
#pragma once

#include "engine/device/spec.h"
#include "engine/graph/graph.h"

namespace hone {

// Devices of TPUs that hone can plan for: a core of v2 and v3, a chip of later ones. Products and memory
// are those of N. Jouppi et al. ("A Domain-Specific Supercomputer for Training Deep Neural Networks", 2020;
// "TPU v4", 2023) and of cloud.google.com/tpu/docs; a product in f32 takes six in bf16. Links: between
// chips of a slice, all in one direction. The link to the host is a guess: PCIe of the time.
std::span<const DeviceSpec> known_tpus();
// A slice by its name in any case, a generation and a number: "v2-8" has 8 cores, "v4-8" 4 chips of two
// cores, "v5e-16" (or "v5litepod-16") 16 chips. Null: not of this form.
struct TpuSlice {
  const DeviceSpec* device = nullptr;
  int64_t devices = 0;  // 0: the number is not one of the generation
};
TpuSlice tpu_slice(std::string_view name);
// Whether --device names TPUs: "tpu", "tpu:1", a generation, a slice.
bool names_tpus(std::string_view device);
// Whether one host has all of its devices: hosts have 4 chips of v2, v3, v4 and v5p, 8 of v5e and v6e.
bool is_of_one_host(const TpuSlice& slice);
// Its chips as libtpu names them: "v2:2x2", "v4:2x2x1"; "" for a number of chips that is not a power of two.
std::string topology_of(const TpuSlice& slice);

// Bytes of an array in tiles of 8 x 128 elements of 32 bits (16 x 128 of 16 bits, 32 x 128 of 8), which cover two
// of its dimensions: the two that waste least, as the compiler chooses their order. An array of one dimension is
// rounded up to 128 elements.
int64_t tiled_bytes(const Type& type);

// Bytes of a program's machine code, which a TPU keeps beside the program's values: a number for each product of
// matrices, and one for each kind of them, which is its op and its types. Fitted to the compiler's figures
// (docs/tpus.md).
int64_t tpu_code_bytes(const Program& program);

}  // namespace hone

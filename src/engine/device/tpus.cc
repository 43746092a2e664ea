#include "engine/device/tpus.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <string>

#include "base/core/text.h"
#include "engine/graph/op.h"

namespace hone {
namespace {

// A device of a TPU: GiB that programs may use, as libtpu 0.0.52 says where one needs more (the rest is its own),
// TFLOP/s in bf16, GB/s of memory, to the host and to its neighbours, cores that a slice's name counts for it.
struct TpuSheet {
  const char* name;
  double gib, bf16_tera, memory_giga, host_giga, peer_giga;
  int64_t cores;
};
constexpr std::array<TpuSheet, 6> kTpuSheets{{
    {"v2", 7.48, 23, 350, 8, 124, 1},
    {"v3", 15.48, 61.5, 450, 8, 164, 1},
    {"v4", 30.75, 275, 1200, 16, 300, 2},
    {"v5e", 15.75, 197, 819, 16, 200, 1},
    {"v5p", 95.73, 459, 2765, 32, 600, 2},
    {"v6e", 31.24, 918, 1640, 32, 448, 1},
}};
// Bytes of code. Nodes of few operations an element become parts of the products beside them.
constexpr int64_t kCodeOfProduct = 256 << 10, kCodeOfKind = 300 << 10, kCodeOfLoopKind = 6300 << 10;
constexpr double kProductOperations = 32;  // an element of its operands and results, at least
constexpr std::array<std::string_view, 3> kLoops{"attention", "attention_grad",
                                                 "linear_cross_entropy"};
constexpr double kHostMemory = 50e9;  // bytes a second, of a server with eight channels
constexpr double kProductsOfF32 = 6;  // in bf16, of precision HIGHEST

DeviceSpec tpu(const TpuSheet& sheet) {
  DeviceSpec s;
  s.name = s.isa = sheet.name;
  s.kernels = "tpu";
  s.own_memory = s.multiplies_bf16 = true;
  s.memory_bytes = static_cast<int64_t>(sheet.gib * (1 << 30));
  s.bf16_flops = sheet.bf16_tera * 1e12;
  s.f32_flops = s.f16_flops = s.bf16_flops / kProductsOfF32;
  s.bytes_per_second = sheet.memory_giga * 1e9;
  s.host_bytes_per_second = sheet.host_giga * 1e9;
  s.host_memory_bytes_per_second = kHostMemory;
  s.peer_bytes_per_second = sheet.peer_giga * 1e9;
  return s;
}

}  // namespace

std::span<const DeviceSpec> known_tpus() {
  static const std::vector<DeviceSpec> tpus = [] {
    std::vector<DeviceSpec> all;
    for (const TpuSheet& sheet : kTpuSheets) all.push_back(tpu(sheet));
    return all;
  }();
  return tpus;
}

TpuSlice tpu_slice(std::string_view name) {
  const size_t dash = name.find('-');
  if (dash == name.npos) return {};
  std::string generation = to_lower(name.substr(0, dash));
  if (generation == "v5litepod") generation = "v5e";
  for (size_t i = 0; i < kTpuSheets.size(); ++i) {
    if (generation != kTpuSheets[i].name) continue;
    int64_t count = 0;
    const char* end = name.data() + name.size();
    const auto [at, failed] = std::from_chars(name.data() + dash + 1, end, count);
    const bool whole =
        failed == std::errc() && at == end && count > 0 && count % kTpuSheets[i].cores == 0;
    return {&known_tpus()[i], whole ? count / kTpuSheets[i].cores : 0};
  }
  return {};
}

bool names_tpus(std::string_view device) {
  const std::string name = to_lower(std::string(device.substr(device.rfind('x') + 1)));
  return name == "tpu" || name.starts_with("tpu:") || tpu_slice(name).device != nullptr ||
         std::any_of(kTpuSheets.begin(), kTpuSheets.end(),
                     [&](const TpuSheet& sheet) { return name == sheet.name; });
}

// Whether its links make a torus of three dimensions, not two.
static bool is_solid(const TpuSlice& slice) {
  return slice.device->name == "v4" || slice.device->name == "v5p";
}

bool is_of_one_host(const TpuSlice& slice) { return slice.devices <= (is_solid(slice) ? 4 : 8); }

std::string topology_of(const TpuSlice& slice) {
  const std::string& name = slice.device->name;
  const bool solid = is_solid(slice);
  int64_t chips = slice.devices / (name == "v2" || name == "v3" ? 2 : 1);
  std::array<int64_t, 3> sides{1, 1, 1};
  // Doubles the shortest side each time, the last one first; a plane of 2 x 2 comes before the third side.
  for (size_t turn = 0; chips > 1; ++turn, chips /= 2) {
    if (chips % 2 != 0) return "";
    const size_t axis = solid && turn >= 2 ? 2 - (turn - 2) % 3 : 1 - turn % 2;
    sides[axis] *= 2;
  }
  if (sides[2] > 1) std::sort(sides.begin(), sides.end());
  std::string text = name + ":" + std::to_string(sides[0]) + "x" + std::to_string(sides[1]);
  if (solid) text += "x" + std::to_string(sides[2]);
  return text;
}

int64_t tiled_bytes(const Type& type) {
  constexpr int64_t kColumns = 128, kTileBytes = 8 * 4 * kColumns;
  const auto up = [](int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; };
  const int64_t size = size_of(type.dtype), elements = type.count();
  const auto rank = static_cast<size_t>(type.rank());
  if (rank == 0 || elements == 0) return type.bytes();
  if (rank == 1) return up(elements, kColumns) * size;
  const int64_t rows = std::max<int64_t>(1, kTileBytes / kColumns / size);
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t c = 0; c < rank; ++c)
    for (size_t r = 0; r < rank; ++r) {
      if (r == c) continue;
      const int64_t others = elements / type.shape[r] / type.shape[c];
      least = std::min(least, others * up(type.shape[r], rows) * up(type.shape[c], kColumns));
    }
  return least * size;
}

int64_t tpu_code_bytes(const Program& program) {
  std::map<std::string, int64_t> kinds, loops;
  for (const Node& n : program.nodes) {
    if (n.op->cost == nullptr) continue;
    const NodeView view{program, n};
    double elements = 0;
    std::string kind = n.op->name;
    for (const auto& side : {n.in, n.out})
      for (const ValueId v : side) {
        kind += v == kNoValue ? " _" : " " + program.type(v).text();
        if (v != kNoValue) elements += static_cast<double>(program.type(v).count());
      }
    if (n.op->cost(view).flops < kProductOperations * elements) continue;
    const bool loop = std::find(kLoops.begin(), kLoops.end(), n.op->name) != kLoops.end();
    ++(loop ? loops : kinds)[std::move(kind)];
  }
  // Layers are the turns of a loop, and have one attention of each kind.
  int64_t layers = 1, products = 0;
  for (const auto& [kind, count] : loops)
    if (count >= kFewestLoopLayers) layers = std::max(layers, count);
  for (const auto& [kind, count] : kinds) products += (count + layers - 1) / layers;
  return kCodeOfProduct * products + kCodeOfKind * std::ssize(kinds) +
         kCodeOfLoopKind * std::ssize(loops);
}

}  // namespace hone

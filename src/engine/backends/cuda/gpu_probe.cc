#include "engine/backends/cuda/gpu_probe.h"

#include <filesystem>

#include "base/core/text.h"
#include "engine/backends/cuda/gpus.h"
#include "engine/backends/cuda/libraries/blas.h"
#include "engine/backends/cuda/libraries/compile.h"
#include "engine/backends/cuda/libraries/nccl.h"
#include "engine/backends/cuda/libraries/nvml.h"

namespace hone::cuda {

Probe probe_gpus() {
  OrderedJson json;
  OrderedJson& all = json["gpus"] = OrderedJson::array();
  std::error_code failed;
  const bool has_driver = std::filesystem::exists("/proc/driver/nvidia/version", failed);
  const Result<Driver> driver = load_driver();
  if (!driver.ok()) {
    if (!has_driver)
      return {"gpus", "no NVIDIA driver; hone trains on the CPU", "", std::move(json)};
    return {"gpus", driver.error().what(), driver.error().remedy(), std::move(json)};
  }
  const Result<std::vector<Gpu>> found = gpus(*driver);
  if (!found.ok()) return {"gpus", found.error().what(), "", std::move(json)};
  int version = 0;
  driver->cuDriverGetVersion(&version);
  const std::optional<Nvml> nvml = load_nvml();
  std::vector<std::string> texts;
  bool any = false;
  for (size_t i = 0; i < found->size(); ++i) {
    const Gpu& g = (*found)[i];
    const std::string capability = fmt::format("{}.{}", g.major, g.minor);
    const GpuLinks links = nvml ? links_of(*nvml, g.bus_id) : GpuLinks{};
    all.push_back({{"device", fmt::format("cuda:{}", i)},
                   {"name", g.name},
                   {"capability", capability},
                   {"memory_bytes", g.memory_bytes},
                   {"free_bytes", links.free_bytes},
                   {"pcie", {{"generation", links.pcie_generation}, {"width", links.pcie_width}}},
                   {"nvlinks", links.nvlinks},
                   {"usable", g.is_usable()}});
    const std::string how = links.text();
    texts.push_back(fmt::format("cuda:{} {}, {}{}{}, capability {}{}", i, g.name,
                                format_bytes(g.memory_bytes), how.empty() ? "" : ", ", how,
                                capability,
                                g.is_usable() ? "" : ", which is too old (V100 and up are used)"));
    any = any || g.is_usable();
  }
  const auto compiler = KernelCompiler::open(version / 1000);
  const auto blas = load_blas(version / 1000);
  const auto nccl = load_nccl();
  json["cublaslt"] = blas.ok();
  json["nccl"] = nccl.ok() ? OrderedJson(nccl_version(*nccl)) : OrderedJson();
  json["nvrtc"] = compiler.ok() ? OrderedJson(compiler->version()) : OrderedJson();
  json["cuda_driver"] = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  json["nvidia_driver"] = nvml ? driver_version(*nvml) : "";
  Probe probe{"gpus",
              fmt::format("{}; driver for CUDA {}.{}{}", texts.empty() ? "none" : join(texts, "; "),
                          version / 1000, version % 1000 / 10,
                          compiler.ok() ? ", kernels by NVRTC " + compiler->version() : ""),
              ""};
  if (any && !compiler.ok()) probe.remedy = compiler.error().remedy();
  if (any && compiler.ok() && !blas.ok()) probe.remedy = blas.error().remedy();
  if (found->size() > 1 && probe.remedy.empty() && !nccl.ok()) probe.remedy = nccl.error().remedy();
  probe.facts = std::move(json);
  return probe;
}

}  // namespace hone::cuda

#include "engine/backends/cuda/prepare.h"

#include <algorithm>

#include "base/core/log.h"
#include "engine/backends/cuda/gpus.h"
#include "engine/backends/cuda/libraries/compile.h"

namespace hone::cuda {

Result<std::vector<std::string>> prepare_kernels(const std::vector<std::string>& architectures) {
  constexpr std::string_view kHere = "here";
  const Result<Driver> driver = load_driver();
  std::vector<std::string> all;
  const auto add = [&](const std::string& architecture) {
    if (std::find(all.begin(), all.end(), architecture) == all.end()) all.push_back(architecture);
  };
  for (const std::string& architecture : architectures) {
    if (architecture != kHere) {
      add(architecture);
      continue;
    }
    if (!driver.ok()) continue;  // a machine that only builds
    for (const Gpu& g : HONE_TRY(gpus(*driver)))
      if (g.is_usable()) add(g.isa());
  }
  const KernelCompiler compiler =
      HONE_TRY(KernelCompiler::open(driver.ok() ? cuda_major(*driver) : 0));
  Progress bar("compiling kernels", static_cast<int64_t>(all.size()));
  for (size_t i = 0; i < all.size(); ++i) {
    bar.update(static_cast<int64_t>(i), all[i]);
    HONE_TRY(compiler.keep_all(all[i]));
  }
  bar.update(static_cast<int64_t>(all.size()));
  return all;
}

}  // namespace hone::cuda

#include "engine/backends/cuda/libraries/driver.h"

#include "base/core/module.h"
#include "engine/backends/cuda/libraries/errors.h"

namespace hone::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr int kOldest = 12000;  // CUDA 12.0: every function of driver.def, and capability 9.0

Error no_driver(const std::string& text) {
  return Error(err::kNoDriver, text)
      .todo("install NVIDIA's driver, or use the device cpu; hone doctor says what is here");
}

}  // namespace

Result<Driver> load_driver() {
  const Result<Module> library = load_module(kLibrary);
  if (!library.ok()) return no_driver(fmt::format("there is no {}", kLibrary));
  Driver driver;
#define HONE_CUDA(name, exported, arguments)                      \
  driver.name = library->symbol<CUresult(*) arguments>(exported); \
  if (driver.name == nullptr)                                     \
    return no_driver(fmt::format("{} is too old: it has no {}", kLibrary, exported));
#include "engine/backends/cuda/libraries/driver.def"
#undef HONE_CUDA
  int version = 0;
  driver.cuDriverGetVersion(&version);
  if (version < kOldest)
    return no_driver(fmt::format("the driver is for CUDA {}.{}, and {}.{} is needed",
                                 version / 1000, version % 1000 / 10, kOldest / 1000,
                                 kOldest % 1000 / 10));
  if (const CUresult result = driver.cuInit(0); result != CUDA_SUCCESS) {
    const char* text = nullptr;
    driver.cuGetErrorString(result, &text);
    return no_driver(fmt::format("the driver does not start: {}", text ? text : "no reason given"));
  }
  return driver;
}

int cuda_major(const Driver& driver) {
  int version = 0;
  driver.cuDriverGetVersion(&version);
  return version / 1000;
}

Status cuda_status(const Driver& driver, CUresult result, std::string_view what) {
  if (result == CUDA_SUCCESS) return Ok{};
  const char* text = nullptr;
  driver.cuGetErrorString(result, &text);
  return Error(err::kCudaFails,
               fmt::format("{} failed: {} (error {})", what, text ? text : "no reason given",
                           static_cast<int>(result)));
}

}  // namespace hone::cuda

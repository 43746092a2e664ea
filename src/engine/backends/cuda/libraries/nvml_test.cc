#include "engine/backends/cuda/libraries/nvml.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace hone::cuda {
namespace {

TEST(Nvml, WithoutALibraryNothingIsKnown) {
  const Nvml empty;
  unsigned count = 0;
  EXPECT_EQ(empty.count(&count), NVML_ERROR_FUNCTION_NOT_FOUND);
  EXPECT_EQ(links_of(empty, "0000:01:00.0").text(), "");
  EXPECT_EQ(driver_version(empty), "");
  ::setenv("HONE_NVML", "/nowhere/libnvidia-ml.so", 1);
  EXPECT_FALSE(load_nvml());
  ::unsetenv("HONE_NVML");
}

TEST(Nvml, SaysWhatIsFreeAndHowAGpuIsConnected) {
  Nvml n;
  n.device_by_bus_id = [](const char* id, nvmlDevice_t* device) {
    *device = reinterpret_cast<nvmlDevice_t>(1);
    return std::string_view(id) == "0000:01:00.0" ? 0 : 6;
  };
  n.memory = [](nvmlDevice_t, nvmlMemory_t* m) {
    *m = {.total = 80ull << 30, .free = 70ull << 30, .used = 10ull << 30};
    return 0;
  };
  n.pcie_generation = [](nvmlDevice_t, unsigned* g) { return *g = 5, 0; };
  n.pcie_width = [](nvmlDevice_t, unsigned* w) { return *w = 16, 0; };
  n.nvlink_state = [](nvmlDevice_t, unsigned link, int* is_active) {
    *is_active = link != 3;
    return link < 6 ? 0 : 2;
  };
  n.driver_version = [](char* text, unsigned) { return std::strcpy(text, "580.65.06"), 0; };
  EXPECT_EQ(links_of(n, "0000:01:00.0").text(), "70.0 GiB free, PCIe 5 x16, 5 NVLinks");
  EXPECT_EQ(links_of(n, "0000:02:00.0").text(), "");
  EXPECT_EQ(driver_version(n), "580.65.06");
}

}  // namespace
}  // namespace hone::cuda

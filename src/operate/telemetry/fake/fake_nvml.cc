// A substitute for libnvidia-ml.so.1 in tests: two cards, and not all functions.
#include <cstdint>
#include <cstring>

namespace {
unsigned index_of(void* device) {
  return static_cast<unsigned>(reinterpret_cast<uintptr_t>(device)) - 1;
}
}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* n) { return *n = 2, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void** device) {
  *device = reinterpret_cast<void*>(static_cast<uintptr_t>(i + 1));
  return 0;
}
int nvmlDeviceGetName(void*, char* name, unsigned length) {
  return std::strncpy(name, "Fake GPU", length), 0;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  return std::strncpy(uuid, index_of(device) == 0 ? "GPU-fake-0" : "GPU-fake-1", length), 0;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* rates) {
  rates[0] = 90;
  rates[1] = 40;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  memory[0] = 80ull << 30;
  memory[1] = 75ull << 30;
  memory[2] = 5ull << 30;
  return 0;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  constexpr int kNotSupported = 3;
  return index_of(device) == 0 ? (*milliwatts = 300000, 0) : kNotSupported;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) { return *celsius = 61, 0; }
int nvmlDeviceGetClockInfo(void*, int kind, unsigned* mhz) {
  return *mhz = kind == 1 ? 1980 : 2619, 0;
}
}

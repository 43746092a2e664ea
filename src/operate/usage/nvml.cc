#include "operate/usage/nvml.h"

#include <dlfcn.h>

#include <array>

#include "base/core/text.h"

namespace hone {

// The part of nvml.h that is used; all return 0 when they worked.
struct Nvml::Functions {
  struct Utilization {
    unsigned gpu, memory;  // percent
  };
  struct Memory {
    unsigned long long total, free, used;
  };
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, void**) = nullptr;
  int (*name)(void*, char*, unsigned) = nullptr;
  int (*uuid)(void*, char*, unsigned) = nullptr;
  int (*utilization)(void*, Utilization*) = nullptr;
  int (*memory)(void*, Memory*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;             // milliwatts
  int (*energy)(void*, unsigned long long*) = nullptr;  // millijoules
  int (*temperature)(void*, int, unsigned*) = nullptr;  // sensor 0: the GPU
  int (*clock)(void*, int, unsigned*) = nullptr;        // 1: SM, 2: memory; MHz
};

namespace {
template <class F>
bool load(void* library, const char* name, F& f) {
  f = reinterpret_cast<F>(::dlsym(library, name));
  return f != nullptr;
}

// Is it among those of CUDA_VISIBLE_DEVICES? A UUID may be shortened there.
bool is_visible(int64_t index, const std::string& uuid) {
  const std::string names = environment("CUDA_VISIBLE_DEVICES");
  if (names.empty()) return true;
  for (const std::string_view part : split(names, ',')) {
    const std::string_view name = trim(part);
    if (name == std::to_string(index) || (name.size() > 4 && uuid.starts_with(name))) return true;
  }
  return false;
}
}  // namespace

std::unique_ptr<Nvml> Nvml::open() {
  std::string file = environment("HONE_NVML_LIBRARY");
  if (file.empty()) file = "libnvidia-ml.so.1";
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  auto f = std::make_unique<Functions>();
  if (!load(library, "nvmlInit_v2", f->init) || !load(library, "nvmlShutdown", f->shutdown) ||
      !load(library, "nvmlDeviceGetCount_v2", f->count) ||
      !load(library, "nvmlDeviceGetHandleByIndex_v2", f->handle) ||
      !load(library, "nvmlDeviceGetName", f->name) ||
      !load(library, "nvmlDeviceGetUUID", f->uuid) || f->init() != 0) {
    ::dlclose(library);
    return nullptr;
  }
  // Older drivers lack some of these; what they would say is left out.
  load(library, "nvmlDeviceGetUtilizationRates", f->utilization);
  load(library, "nvmlDeviceGetMemoryInfo", f->memory);
  load(library, "nvmlDeviceGetPowerUsage", f->power);
  load(library, "nvmlDeviceGetTotalEnergyConsumption", f->energy);
  load(library, "nvmlDeviceGetTemperature", f->temperature);
  load(library, "nvmlDeviceGetClockInfo", f->clock);
  return std::unique_ptr<Nvml>(new Nvml(library, std::move(f)));
}

Nvml::Nvml(void* library, std::unique_ptr<Functions> functions)
    : library_(library), functions_(std::move(functions)) {
  unsigned count = 0;
  if (functions_->count(&count) != 0) return;
  for (unsigned i = 0; i < count; ++i) {
    Gpu gpu{nullptr, i, "", ""};
    std::array<char, 97> text{};
    if (functions_->handle(i, &gpu.handle) != 0) continue;
    if (functions_->name(gpu.handle, text.data(), text.size() - 1) == 0) gpu.name = text.data();
    text = {};
    if (functions_->uuid(gpu.handle, text.data(), text.size() - 1) == 0) gpu.uuid = text.data();
    if (is_visible(i, gpu.uuid)) gpus_.push_back(std::move(gpu));
  }
}

Nvml::~Nvml() {
  functions_->shutdown();
  ::dlclose(library_);
}

std::vector<GpuUsage> Nvml::read() {
  std::vector<GpuUsage> all;
  const Functions& f = *functions_;
  for (const Gpu& gpu : gpus_) {
    GpuUsage& u = all.emplace_back();
    u.index = gpu.index;
    u.name = gpu.name;
    u.uuid = gpu.uuid;
    Functions::Utilization busy{};
    if (f.utilization && f.utilization(gpu.handle, &busy) == 0) {
      u.busy_share = busy.gpu / 100.0;
      u.memory_busy_share = busy.memory / 100.0;
    }
    Functions::Memory memory{};
    if (f.memory && f.memory(gpu.handle, &memory) == 0) {
      u.memory_total_bytes = static_cast<int64_t>(memory.total);
      u.memory_used_bytes = static_cast<int64_t>(memory.used);
      u.memory_free_bytes = static_cast<int64_t>(memory.free);
    }
    unsigned x = 0;
    unsigned long long energy = 0;
    if (f.power && f.power(gpu.handle, &x) == 0) u.power_watts = x / 1e3;
    if (f.energy && f.energy(gpu.handle, &energy) == 0)
      u.energy_joules = static_cast<double>(energy) / 1e3;
    if (f.temperature && f.temperature(gpu.handle, 0, &x) == 0) u.temperature_celsius = x;
    if (f.clock && f.clock(gpu.handle, 1, &x) == 0) u.sm_clock_mhz = x;
    if (f.clock && f.clock(gpu.handle, 2, &x) == 0) u.memory_clock_mhz = x;
  }
  return all;
}

}  // namespace hone

#include "engine/backends/backend_probes.h"

#include <filesystem>

#include "base/core/text.h"
#include "engine/backends/backends.h"

namespace hone {

namespace fs = std::filesystem;

Probe probe_backends() {
  OrderedJson json;
  json["backends"] = backend_names();
  json["devices"] = device_names();
  return {"backends",
          fmt::format("{}; hone plan also answers for {}", join(backend_names(), ", "),
                      join(device_names(), ", ")),
          "", std::move(json)};
}

Probe probe_kernels(const DeviceSpec& cpu) {
  OrderedJson json;
  const std::string& tier = cpu.isa;
  const int threads = cpu.threads;
  json["uses"] = {{"backend", "cpu"}, {"instruction_set", tier}, {"threads", threads}};
  Probe probe{"hone uses",
              fmt::format("{} kernels on {} thread{}", tier, threads, threads == 1 ? "" : "s"), ""};
  if (tier == "baseline") {
    probe.remedy =
        "hone uses no AVX2, so training is several times slower: unset HONE_CPU_ISA, or take a "
        "machine with AVX2 or AVX-512";
  }
  json["uses"]["bf16"] = cpu.multiplies_bf16 ? "processor" : "emulated";
  probe.facts = std::move(json);
  return probe;
}

Probe probe_accelerators() {
  OrderedJson json;
  OrderedJson found = OrderedJson::array();
  std::vector<std::string> names;
  auto add = [&](const std::string& kind, const std::string& name) {
    found.push_back({{"kind", kind}, {"name", name}, {"used", false}});
    names.push_back(name);
  };
  std::error_code failed;
  if (fs::exists("/dev/kfd", failed)) add("rocm", "AMD GPU");
  json["accelerators"] = std::move(found);
  if (names.empty()) return {"accelerator", "no other one found", "", std::move(json)};
  return {"accelerator", fmt::format("{}: this build has no backend for it", join(names, ", ")), "",
          std::move(json)};
}

}  // namespace hone

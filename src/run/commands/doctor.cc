// hone doctor: what this machine has, what hone will use of it, what is missing and how to get it.
// Each room probes what it knows.
#include "base/core/log.h"
#include "base/core/machine_probes.h"
#include "base/core/text.h"
#include "base/store/store_probes.h"
#include "engine/backends/backend_probes.h"
#include "engine/backends/backends.h"
#include "engine/backends/cuda/gpu_probe.h"
#include "engine/backends/cuda/prepare.h"
#include "engine/backends/xla/xla_probe.h"
#include "engine/comm/engines/comm_probe.h"
#include "engine/device/io_probe.h"
#include "learn/data/formats/parquet_probe.h"
#include "learn/harness/budget/speed_probe.h"
#include "run/commands/command.h"
#include "run/commands/doctor_links.h"

namespace hone {
namespace {

struct DoctorSettings {
#define HONE_SETTINGS "run/commands/doctor.def"
#include "base/settings/fields.inc"
};

Result<int> run_doctor(const std::vector<std::string>& args) {
  DoctorSettings settings;
  Schema schema("hone doctor", "show what this machine has, what hone uses, what is missing");
  settings.bind(schema);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;

  const LinkCheck links{.engine = settings.ddp_backend,
                        .json = settings.json,
                        .address = settings.main_process_ip,
                        .ssh_words = settings.launcher_args};
  if (!settings.hosts.empty()) return check_hosts(settings.hosts, links);
  if (settings.links) return check_links(links);
  if (!settings.compile_kernels.empty()) {
    const auto made = HONE_TRY(cuda::prepare_kernels(settings.compile_kernels));
    log_info("kernels are ready for {}", made.empty() ? "no GPU" : join(made, ", "));
  }
  const DeviceSpec cpu = HONE_TRY(device_spec("cpu"));
  const Probe probes[] = {
      probe_versions(),    probe_processor(),    probe_kernels(cpu), probe_speed(cpu.threads),
      probe_memory(),      probe_memory_nodes(), probe_limits(),     probe_huge_pages(),
      probe_disk(),        probe_io_uring(),     probe_parquet(),    probe_communication(),
      probe_hub(),         probe_backends(),     cuda::probe_gpus(), xla::probe_plugins(),
      probe_accelerators()};
  OrderedJson json = {{"version", std::string(version())}}, missing = OrderedJson::array();
  std::string text = fmt::format("{:<12} {}\n", "hone", version());
  for (const Probe& p : probes) {
    json.update(p.facts);
    text += fmt::format("{:<12} {}\n", p.topic, p.text);
    if (p.remedy.empty()) continue;
    text += fmt::format("{:<12}   do: {}\n", "", p.remedy);
    missing.push_back({{"topic", p.topic}, {"what", p.text}, {"do", p.remedy}});
  }
  text += fmt::format(
      "{:<12} {}\n", "missing",
      missing.empty() ? "nothing" : fmt::format("{}, see the lines 'do:'", missing.size()));
  json["missing"] = std::move(missing);
  print_out(settings.json ? dump_json(json) + "\n" : text);
  return kExitDone;
}

}  // namespace

Command command_doctor() {
  return {.name = "doctor",
          .summary = "show what this machine has, what hone uses, what is missing",
          .in = CommandGroup::kInspect,
          .run = run_doctor};
}

}  // namespace hone

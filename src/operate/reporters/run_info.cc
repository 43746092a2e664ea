#include "operate/reporters/run_info.h"

#include <random>

#include "base/core/memory.h"
#include "base/core/process.h"
#include "base/core/system_files.h"
#include "base/core/text.h"
#include "base/core/threads.h"
#include "base/store/http.h"
#include "operate/telemetry/gpu_usage.h"

namespace hone {
namespace {

std::string ask_metadata(const std::string& url, const HttpHeaders& headers) {
  HttpClient http({.connect_timeout_seconds = 0.5, .stall_timeout_seconds = 1, .retries = 0});
  const Result<HttpResponse> answer = http.send({.url = url, .headers = headers});
  return answer.ok() && answer->status == 200 ? std::string(trim(answer->body)) : "";
}

// Amazon's firmware names the type itself; Google's and Microsoft's machines are asked.
std::string machine_type() {
  if (const std::string named = environment("HONE_MACHINE_TYPE"); !named.empty()) return named;
  const std::string vendor = first_line("/sys/class/dmi/id/sys_vendor"),
                    product = first_line("/sys/class/dmi/id/product_name");
  if (vendor == "Amazon EC2") return product;
  const std::string google = environment("GCE_METADATA_HOST");
  if (!google.empty() || vendor == "Google")
    return last_part(ask_metadata(  // "projects/123/machineTypes/n1-standard-8"
        fmt::format("http://{}/computeMetadata/v1/instance/machine-type",
                    google.empty() ? "metadata.google.internal" : google),
        {{"metadata-flavor", "Google"}}));
  if (vendor == "Microsoft Corporation")
    return ask_metadata(
        "http://169.254.169.254/metadata/instance/compute/vmSize?api-version=2021-02-01&format="
        "text",
        {{"metadata", "true"}});
  return "";
}

}  // namespace

OrderedJson Machine::json() const {
  return {{"host", host},
          {"type", type},
          {"cpu", cpu},
          {"processors", processors},
          {"memory_bytes", memory_bytes},
          {"gpu", gpu},
          {"gpus", gpus},
          {"gpu_memory_bytes", gpu_memory_bytes}};
}

OrderedJson RunInfo::json() const {
  return {{"id", id},
          {"name", name},
          {"command", command},
          {"folder", folder},
          {"task", task},
          {"model", model},
          {"output_dir", output_dir},
          {"device", device},
          {"devices", devices},
          {"batch_size", batch_size},
          {"gradient_accumulation_steps", gradient_accumulation_steps},
          {"begun_s", begun_s},
          {"machine", machine.json()},
          {"settings", settings}};
}

Machine this_machine() {
  Machine m;
  m.host = host_name();
  m.cpu = system_value("/proc/cpuinfo", "model name");
  m.type = machine_type();
  m.processors = usable_cores();
  m.memory_bytes = read_memory().total_bytes;
  if (const std::unique_ptr<GpuReader> reader = GpuReader::open()) {
    const std::vector<GpuUsage> gpus = reader->read();
    m.gpus = static_cast<int64_t>(gpus.size());
    if (!gpus.empty()) {
      m.gpu = gpus[0].name;
      m.gpu_memory_bytes = std::max<int64_t>(0, gpus[0].memory_total_bytes);
    }
  }
  return m;
}

std::string new_run_id() {
  if (const std::string given = environment("HONE_RUN_ID"); !given.empty()) return given;
  std::random_device device;
  std::string id;
  for (int i = 0; i < 8; ++i) id += "abcdefghijklmnopqrstuvwxyz0123456789"[device() % 36];
  return id;
}

}  // namespace hone

#include "operate/pipeline/recipe/recipe_machines.h"

#include <algorithm>
#include <map>

#include "base/core/text.h"

namespace hone {
namespace {

std::string machines_text(int64_t nodes, const std::string& type, int64_t gpus,
                          const std::string& gpu) {
  std::string text = type.empty() ? "a machine" : type;
  if (nodes > 1) text = fmt::format("{} machines{}{}", nodes, type.empty() ? "" : " ", type);
  if (gpus > 0) text += fmt::format(" with {} {}{}", gpus, gpu, nodes > 1 ? " each" : "");
  return text;
}

int64_t ranks_of(const Recipe& r) { return r.node_count * std::max<int64_t>(1, r.gpu_count); }

// Gbit/s of a machine for messages between GPUs, from Google Cloud's page on networking and GPU
// machines; "": unknown.
std::string network_of(const std::string& machine_type) {
  static const std::map<std::string, std::string> known = {
      {"a2-highgpu-1g", "24"},   {"a2-highgpu-2g", "32"},   {"a2-highgpu-4g", "50"},
      {"a2-highgpu-8g", "100"},  {"a2-megagpu-16g", "100"}, {"a2-ultragpu-1g", "24"},
      {"a2-ultragpu-2g", "32"},  {"a2-ultragpu-4g", "50"},  {"a2-ultragpu-8g", "100"},
      {"a3-highgpu-8g", "800"},  {"a3-megagpu-8g", "1600"}, {"a3-ultragpu-8g", "3200"},
      {"a4-highgpu-8g", "3200"}, {"g2-standard-96", "100"}};
  const auto at = known.find(machine_type);
  return at == known.end() ? "" : at->second;
}

}  // namespace

std::vector<std::string> launch_words(const Recipe& r) {
  if (r.launcher.empty() && r.hostfile.empty()) return {};
  std::vector<std::string> words = {"hone", "launch"};
  const std::string each = std::to_string(std::max<int64_t>(1, r.gpu_count));
  if (r.launcher == "local" && r.hostfile.empty())  // all on this machine
    words.insert(words.end(), {"--num_processes", std::to_string(ranks_of(r))});
  else
    words.insert(words.end(),
                 {"--num_machines", std::to_string(r.node_count), "--processes_per_machine", each});
  if (!r.launcher.empty()) words.insert(words.end(), {"--launcher", r.launcher});
  if (!r.hostfile.empty()) words.insert(words.end(), {"--hostfile", r.hostfile});
  return words;
}

StepMachine host_machine(const Recipe& r) {
  return {.machine_type = {}, .gpu_type = {}, .zone = r.zone};
}

StepMachine training_machine(const Recipe& r) {
  return {.machine_type = r.machine_type,
          .gpu_type = r.gpu_type,
          .zone = r.zone,
          .gpu_count = r.gpu_count,
          .node_count = r.node_count};
}

StepMachine serving_machine(const Recipe& r) {
  return {.machine_type = r.deploy_machine_type,
          .gpu_type = r.deploy_gpu_type,
          .zone = r.deploy_region,
          .gpu_count = r.deploy_gpu_count};
}

std::vector<std::string> machine_notes(const Recipe& r) {
  std::vector<std::string> notes;
  const bool launches = !launch_words(r).empty();
  if (!r.machine_type.empty() || r.gpu_count > 0 || r.node_count > 1) {
    std::string where = r.zone.empty() ? "" : " in " + r.zone;
    if (!r.cluster_prefix.empty()) where += fmt::format(" (named {}-...)", r.cluster_prefix);
    const std::string machines =
        machines_text(r.node_count, r.machine_type, r.gpu_count, r.gpu_type);
    notes.push_back(
        launches ? fmt::format("{:<11} asks for {}{}: {} ranks train, the other steps run here",
                               "cluster", machines, where, ranks_of(r))
                 : fmt::format("{:<11} asks for {}{}: this machine runs the steps instead",
                               "cluster", machines, where));
  }
  const int64_t devices = ranks_of(r);
  if (devices > 1 && !launches)
    notes.push_back(
        fmt::format("{:<11} {} rows a step here, {} there ({} devices): \"train\": "
                    "{{\"gradient_accumulation_steps\": {}}} gives the same steps",
                    "batch", r.batch_size, r.batch_size * devices, devices, devices));
  if (!r.deploy_machine_type.empty() || r.deploy_gpu_count > 0)
    notes.push_back(
        fmt::format("{:<11} asks for {}{}: the endpoint is on this machine instead", "deploy",
                    machines_text(1, r.deploy_machine_type, r.deploy_gpu_count, r.deploy_gpu_type),
                    r.deploy_region.empty() ? "" : " in " + r.deploy_region));
  return notes;
}

std::string planned_device(const std::string& gpu_type) {
  std::string name = to_lower(gpu_type);
  std::replace(name.begin(), name.end(), '_', '-');
  static const std::map<std::string, std::string> known = {{"nvidia-tesla-a100", "A100-40GB"},
                                                           {"nvidia-a100-80gb", "A100-80GB"},
                                                           {"nvidia-h100-80gb", "H100"},
                                                           {"nvidia-h100-mega-80gb", "H100"},
                                                           {"nvidia-h200-141gb", "H200"},
                                                           {"nvidia-b200", "B200"},
                                                           {"nvidia-tesla-v100", "V100-16GB"},
                                                           {"nvidia-tesla-t4", "T4"},
                                                           {"nvidia-l4", "L4"}};
  const auto at = known.find(name);
  return at == known.end() ? "" : at->second;
}

std::vector<std::string> plan_command(const Recipe& r, const std::vector<std::string>& row_flags,
                                      std::vector<std::string>& notes) {
  const std::string device = planned_device(r.gpu_type);
  if (device.empty()) {
    if (r.gpu_count > 0)
      notes.push_back(fmt::format("{:<11} hone plan does not know the GPU '{}': not planned",
                                  "plan", r.gpu_type));
    return {};
  }
  std::vector<std::string> command = {
      "hone",
      "plan",
      "--task",
      r.task,
      "--model_name_or_path",
      r.model_checkpoint,
      "--per_device_train_batch_size",
      std::to_string(r.batch_size),
      "--device",
      r.node_count > 1
          ? fmt::format("{}x{}x{}", r.node_count, std::max<int64_t>(1, r.gpu_count), device)
      : r.gpu_count > 1 ? fmt::format("{}x{}", r.gpu_count, device)
                        : device};
  if (const std::string gbit = network_of(r.machine_type); r.node_count > 1 && !gbit.empty())
    command.insert(command.end(), {"--network_gbit", gbit});
  command.insert(command.end(), row_flags.begin(), row_flags.end());
  return command;
}

}  // namespace hone

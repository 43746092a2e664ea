#include "operate/pipeline/recipe/recipe_machines.h"

#include <algorithm>
#include <map>

#include "base/core/text.h"

namespace hone {
namespace {

std::string machines_text(int64_t nodes, const std::string& type, int64_t gpus,
                          const std::string& gpu) {
  std::string text = type.empty() ? "a machine" : type;
  if (nodes > 1) text = fmt::format("{} machines {}", nodes, type);
  if (gpus > 0) text += fmt::format(" with {} {}{}", gpus, gpu, nodes > 1 ? " each" : "");
  return text;
}

}  // namespace

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
  if (!r.machine_type.empty() || r.gpu_count > 0 || r.node_count > 1) {
    std::string where = r.zone.empty() ? "" : " in " + r.zone;
    if (!r.cluster_prefix.empty()) where += fmt::format(" (named {}-...)", r.cluster_prefix);
    notes.push_back(
        fmt::format("{:<11} asks for {}{}: this machine runs the steps instead", "cluster",
                    machines_text(r.node_count, r.machine_type, r.gpu_count, r.gpu_type), where));
  }
  const int64_t devices = r.node_count * std::max<int64_t>(1, r.gpu_count);
  if (devices > 1)
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
      r.gpu_count > 1 ? fmt::format("{}x{}", r.gpu_count, device) : device};
  command.insert(command.end(), row_flags.begin(), row_flags.end());
  return command;
}

}  // namespace hone

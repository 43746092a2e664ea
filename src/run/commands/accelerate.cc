// hone accelerate launch [launcher flags] run_mlm.py ...: the launcher's line as recipes print it.
// Reference: accelerate launch of Accelerate 1.
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/launcher.h"
#include "run/commands/launcher_config.h"

namespace hone {
namespace {

// Each is either a name that takes a value, or a switch.
std::vector<LauncherFlag> accelerate_flags() {
  return {{"config_file"},
          {"quiet", false},
          {"cpu", false},
          {"multi_gpu", false},
          {"tpu", false},
          {"use_mps_device", false},
          {"mixed_precision"},
          {"num_processes"},
          {"num_machines"},
          {"num_cpu_threads_per_process"},
          {"enable_cpu_affinity", false},
          {"dynamo_backend"},
          {"dynamo_mode"},
          {"dynamo_use_fullgraph", false},
          {"dynamo_use_dynamic", false},
          {"use_deepspeed", false},
          {"use_fsdp", false},
          {"use_megatron_lm", false},
          {"use_parallelism_config", false},
          {"gpu_ids"},
          {"same_network", false},
          {"machine_rank"},
          {"main_process_ip"},
          {"main_process_port"},
          {"tee"},
          {"log_dir"},
          {"role"},
          {"rdzv_backend"},
          {"rdzv_conf"},
          {"max_restarts"},
          {"monitor_interval"},
          {"no_python", false},
          {"debug", false},
          {"main_training_function"},
          {"downcast_bf16", false},
          {"deepspeed_config_file"},
          {"zero_stage"},
          {"offload_optimizer_device"},
          {"offload_param_device"},
          {"gradient_clipping"},
          {"zero3_init_flag"},
          {"zero3_save_16bit_model"},
          {"deepspeed_hostfile"},
          {"deepspeed_multinode_launcher"},
          {"fsdp_version"},
          {"fsdp_offload_params"},
          {"fsdp_sharding_strategy"},
          {"fsdp_reshard_after_forward"},
          {"fsdp_auto_wrap_policy"},
          {"fsdp_transformer_layer_cls_to_wrap"},
          {"fsdp_state_dict_type"},
          {"fsdp_backward_prefetch"},
          {"fsdp_use_orig_params"},
          {"fsdp_cpu_ram_efficient_loading"},
          {"fsdp_sync_module_states"},
          {"fsdp_activation_checkpointing"}};
}

// FSDP's strategies, by name or by the number of torch's enumeration.
std::map<std::string, std::string> sharding_strategies() {
  std::map<std::string, std::string> all;
  int64_t number = 0;
  for (const auto& [name, word] : {std::pair("FULL_SHARD", "full_shard"),
                                   {"SHARD_GRAD_OP", "shard_grad_op"},
                                   {"NO_SHARD", "no_shard"},
                                   {"HYBRID_SHARD", "hybrid_shard"},
                                   {"HYBRID_SHARD_ZERO2", "hybrid_shard_zero2"}})
    all[name] = all[fmt::format("{}", ++number)] = std::string("--fsdp=") + word;
  return all;
}

// Scripts of Transformers train in these ways, as with their own flags.
std::map<std::string, std::map<std::string, std::string>> accelerate_meanings() {
  return {{"cpu", {{"", "--use_cpu"}}},
          {"tpu", {{"", "--device=tpu"}}},
          {"mixed_precision", {{"no", ""}, {"bf16", "--bf16"}, {"fp16", "--fp16"}}},
          {"deepspeed_config_file", {{"", "--deepspeed="}}},
          {"gradient_clipping", {{"", "--max_grad_norm="}}},
          {"zero_stage", {{"", "--zero_stage="}}},
          {"fsdp_sharding_strategy", sharding_strategies()},
          {"offload_optimizer_device",
           {{"none", ""},
            {"cpu", "--offload_optimizer_device=cpu"},
            {"nvme", "--offload_optimizer_device=nvme"}}},
          {"offload_param_device",
           {{"none", ""},
            {"cpu", "--offload_param_device=cpu"},
            {"nvme", "--offload_param_device=nvme"}}}};
}

Result<int> run_accelerate(const std::vector<std::string>& args) {
  const bool asks = args.size() == 1 &&
                    (args[0] == kMarkdownFlag || args[0] == kSheetFlag || args[0] == "--help");
  if (!asks && (args.empty() || args[0] != "launch"))
    return Error(err::kUnknownScript,
                 args.empty()
                     ? "accelerate is given no command"
                     : fmt::format("hone has nothing in place of 'accelerate {}'", args[0]))
        .todo("hone accelerate launch SCRIPT runs a script");
  return run_launcher({.name = asks ? "accelerate" : "accelerate launch",
                       .example = "--num_processes N",
                       .flags = accelerate_flags(),
                       .letters = {{"q", "quiet"}, {"t", "tee"}},
                       .meanings = accelerate_meanings(),
                       .config_flag = "config_file",
                       .usual_config = asks ? "" : usual_launcher_config(),
                       .ranks = {{"num_processes", "num_processes"},
                                 {"max_restarts", "max_restarts"},
                                 {"num_machines", "num_machines"},
                                 {"machine_rank", "machine_rank"},
                                 {"main_process_ip", "main_process_ip"},
                                 {"main_process_port", "main_process_port"},
                                 {"num_cpu_threads_per_process", "threads"},
                                 {"gpu_ids", "devices"},
                                 {"deepspeed_hostfile", "hostfile"},
                                 {"deepspeed_multinode_launcher", "launcher"}}},
                      asks ? args : std::vector<std::string>(args.begin() + 1, args.end()));
}

}  // namespace

Command command_accelerate() {
  return {.name = "accelerate",
          .summary = "run an accelerate command line: hone accelerate launch run_clm.py ...",
          .in = CommandGroup::kOtherPrograms,
          .run = run_accelerate};
}

}  // namespace hone

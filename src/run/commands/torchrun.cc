// hone torchrun [launcher flags] run_glue.py ...: the launcher's line as recipes print it.
// Reference: torch.distributed.run of PyTorch 2.
#include "run/commands/command.h"
#include "run/commands/launcher.h"

namespace hone {
namespace {

Result<int> run_torchrun(const std::vector<std::string>& args) {
  return run_launcher({.name = "torchrun",
                       .example = "--nproc_per_node N",
                       .flags = {{"nnodes"},
                                 {"nproc_per_node"},
                                 {"rdzv_backend"},
                                 {"rdzv_endpoint"},
                                 {"rdzv_id"},
                                 {"rdzv_conf"},
                                 {"standalone", false},
                                 {"max_restarts"},
                                 {"monitor_interval"},
                                 {"start_method"},
                                 {"role"},
                                 {"no_python", false},
                                 {"run_path", false},
                                 {"log_dir"},
                                 {"redirects"},
                                 {"tee"},
                                 {"local_ranks_filter"},
                                 {"node_rank"},
                                 {"master_addr"},
                                 {"master_port"},
                                 {"local_addr"},
                                 {"logs_specs"},
                                 {"event_log_handler"},
                                 {"numa_binding"},
                                 {"signals_to_handle"},
                                 {"virtual_local_rank", false},
                                 {"use_env", false}},
                       .letters = {{"r", "redirects"}, {"t", "tee"}},
                       .ranks = {{"nproc_per_node", "processes_per_machine"},
                                 {"max_restarts", "max_restarts"},
                                 {"nnodes", "num_machines"},
                                 {"node_rank", "machine_rank"},
                                 {"master_addr", "main_process_ip"},
                                 {"master_port", "main_process_port"},
                                 {"rdzv_endpoint", "endpoint"}}},
                      args);
}

}  // namespace

Command command_torchrun() {
  return {
      .name = "torchrun",
      .summary = "run a torchrun command line: hone torchrun [--nproc_per_node N] run_clm.py ...",
      .in = CommandGroup::kOtherPrograms,
      .run = run_torchrun};
}

}  // namespace hone

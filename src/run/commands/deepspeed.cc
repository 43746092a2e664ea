// hone deepspeed [launcher flags] run_clm.py ...: the launcher's line as recipes print it.
#include "run/commands/command.h"
#include "run/commands/launcher.h"

namespace hone {
namespace {

Result<int> run_deepspeed(const std::vector<std::string>& args) {
  return run_launcher({.name = "deepspeed",
                       .example = "--num_gpus N",
                       .flags = {{"num_gpus"},
                                 {"num_nodes"},
                                 {"num_accelerators"},
                                 {"hostfile"},
                                 {"include"},
                                 {"exclude"},
                                 {"master_addr"},
                                 {"master_port"},
                                 {"launcher"},
                                 {"launcher_args"},
                                 {"node_rank"},
                                 {"min_elastic_nodes"},
                                 {"max_elastic_nodes"},
                                 {"autotuning"},
                                 {"bind_core_list"},
                                 {"save_pid", false},
                                 {"no_local_rank", false},
                                 {"no_python", false},
                                 {"force_multi", false},
                                 {"elastic_training", false},
                                 {"enable_each_rank_log"},
                                 {"bind_cores_to_rank", false}},
                       .letters = {{"H", "hostfile"}, {"i", "include"}, {"e", "exclude"}},
                       .ranks = {{"num_gpus", "processes_per_machine"},
                                 {"num_accelerators", "processes_per_machine"},
                                 {"num_nodes", "num_machines"},
                                 {"hostfile", "hostfile"},
                                 {"include", "include"},
                                 {"exclude", "exclude"},
                                 {"launcher", "launcher"},
                                 {"launcher_args", "launcher_args"},
                                 {"node_rank", "machine_rank"},
                                 {"master_addr", "main_process_ip"},
                                 {"master_port", "main_process_port"}},
                       .usual_hostfile = "/job/hostfile"},
                      args);
}

}  // namespace

Command command_deepspeed() {
  return {.name = "deepspeed",
          .summary =
              "run a deepspeed command line: hone deepspeed [--num_gpus N] "
              "run_clm.py ...",
          .in = CommandGroup::kOtherPrograms,
          .run = run_deepspeed};
}

}  // namespace hone

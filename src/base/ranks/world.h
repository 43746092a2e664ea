// The place of this process among the ranks of a run. A rank is a process with one device.
//
//   const World world = HONE_TRY(read_world());
//   if (world.leads()) ... write the log
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/core/error.h"
#include "base/core/text.h"

namespace hone {

struct World {
  int rank = 0, ranks = 1;              // in the run
  int local_rank = 0, local_ranks = 1;  // on this host
  std::string host = {};                // name of this host
  int64_t epoch = 1;                    // number of the membership: rises when ranks are replaced
  int full_ranks = 1;        // of the whole run: more than `ranks` while hosts are missing
  std::string address = {};  // host of the control plane; "": none is needed
  int port = 0;              // its port
  bool served = false;       // true: a launcher serves it; false: rank 0 does

  bool is_alone() const { return ranks == 1; }
  bool leads() const { return rank == 0; }

  // A run of one rank.
  static World alone();
};

// The value of a variable of the environment; "" if it is not set.
using Variables = std::function<std::string(const char* name)>;

// Reads the first of these groups of variables that names a rank; none: alone().
//   torchrun    RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE
//   Open MPI    OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
//   Slurm       SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS, SLURM_LOCALID, in a step of srun
// MASTER_ADDR and MASTER_PORT are the address of the control plane for all of them; hone's own
// HONE_RANKS_SERVED=1 says that a launcher serves it, HONE_RANKS_EPOCH numbers the membership, and
// HONE_RANKS_FULL is the number of ranks of the whole run.
// Error H0121: a value is missing, is not a number, or contradicts another one.
Result<World> read_world(const Variables& variable = environment);

// The variables from which read_world() reads `world` again.
std::map<std::string, std::string> world_variables(const World& world);

// Secret of a run, which each rank shows when it joins: HONE_RANKS_TOKEN.
inline constexpr const char* kTokenOfRanks = "HONE_RANKS_TOKEN";
// A new one: 32 hexadecimal digits.
std::string new_ranks_token();

}  // namespace hone

// The place of this process among the ranks of a run, from environment variables that a launcher sets. A rank is a
// process with one device.
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
  int rank = 0, ranks = 1;              // the number of this rank, from 0, and the number of ranks
  int local_rank = 0, local_ranks = 1;  // the same two numbers among the ranks on this host
  std::string host = {};                // the name of this host
  // The number of the membership, from 1. A membership is a set of ranks that run together; after a failure, the
  // launcher begins the next one.
  int64_t epoch = 1;
  int full_ranks = 1;        // the number of ranks when no host is missing, at least `ranks`
  std::string address = {};  // the host of the control plane (control.h); "": none is needed
  int port = 0;              // the TCP port of the control plane
  bool served = false;       // true: a launcher serves the control plane; false: rank 0 does

  bool is_alone() const { return ranks == 1; }
  bool leads() const { return rank == 0; }  // this is rank 0

  // A run of one rank.
  static World alone();
};

// A function that returns the value of an environment variable; "" if it is not set.
using Variables = std::function<std::string(const char* name)>;

// Reads the World from the variables of a launcher; World::alone() if no launcher has set its variables. If several
// launchers have set theirs, the first in this list counts:
//   torchrun    RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE
//   Open MPI    OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
//   Slurm       SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS, SLURM_LOCALID, in a step of srun
// With each launcher, MASTER_ADDR and MASTER_PORT are the address of the control plane. hone's own launcher also sets
// HONE_RANKS_SERVED=1 (World::served), HONE_RANKS_EPOCH (World::epoch) and HONE_RANKS_FULL (World::full_ranks).
// Error H0121 if a value is missing, is not a number, or contradicts another one.
Result<World> read_world(const Variables& variable = environment);

// The variables by name from which read_world() reads `world` again.
std::map<std::string, std::string> world_variables(const World& world);

// The environment variable with the secret of a run, which each rank sends when it joins.
inline constexpr const char* kTokenOfRanks = "HONE_RANKS_TOKEN";
// A new random secret of 32 hexadecimal digits.
std::string new_ranks_token();

}  // namespace hone

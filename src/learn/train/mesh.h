// Reads --mesh, such as "data=2,tensor=4", and arranges the ranks of a run in its axes.
#pragma once

#include <optional>
#include <string>

#include "base/core/error.h"

namespace hone {

class RunRanks;
struct TrainSettings;

// The number of ranks on each axis.
struct MeshAxes {
  std::optional<int64_t> data = {};  // nullopt: the number of all ranks divided by the other axes
  int64_t tensor = 1, pipeline = 1;
};
// Reads the text of a mesh; "" gives the defaults. `wanted`: the end of the remedy, such as "a product of 8". Errors:
// H0203 the text is not a mesh.
Result<MeshAxes> read_mesh(const std::string& text, const std::string& wanted);
// H0203 for the mesh `text`, with the reason `why`.
Error bad_mesh(const std::string& text, const std::string& why, const std::string& wanted);

// Sets the axes of the mesh and the groups of --mics_shard_size in settings.ranks. All ranks call it. Errors: H0203 the
// mesh cannot be read; H2432 mesh or groups do not fit the number of ranks or another setting, or the mesh has a
// pipeline.
Status set_mesh(const TrainSettings& settings);

// The number of ranks of a group that divides the states among its ranks (--mics_shard_size); 0: all ranks divide them.
// `ranks`: their axis `tensor` must be set. `local_ranks`: ranks of a machine. Errors: H2432 the group does not fit the
// number of ranks, ZeRO stage 0 or the axis `tensor`.
Result<int64_t> shard_ranks(const TrainSettings& settings, const RunRanks& ranks,
                            int64_t local_ranks);

}  // namespace hone

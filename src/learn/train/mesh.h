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
  std::optional<int64_t> data = {};  // nullopt: the number of all ranks / (tensor * pipeline)
  int64_t tensor = 1, pipeline = 1;
};
// Reads the text of a mesh; "" gives the defaults. `wanted`: the end of the advice in a message, such as "a product of
// 8". Errors: H0203 the text is not a mesh.
Result<MeshAxes> read_mesh(const std::string& text, const std::string& wanted);
// Returns H0203 for the mesh `text`, with the reason `why`. `wanted`: as for read_mesh().
Error bad_mesh(const std::string& text, const std::string& why, const std::string& wanted);

// Sets the size of the axis `tensor` and of the groups of --mics_shard_size in settings.ranks. All ranks call it.
// Errors: H0203 the mesh cannot be read; H2432 mesh or groups do not fit the number of ranks or another setting, or the
// mesh has a pipeline.
Status set_mesh(const TrainSettings& settings);

// The number of ranks of a group that divides the states among its ranks (--mics_shard_size; below 0: the ranks of a
// machine). 0: there are no groups, and all ranks divide the states. In `ranks`, the size of the axis `tensor` must
// already be set. `local_ranks`: number of ranks of a machine; used only if mics_shard_size is below 0. Errors: H2432
// the group has one rank, its size does not divide the number of ranks, or it is used with ZeRO stage 0 or with the
// axis `tensor`.
Result<int64_t> shard_ranks(const TrainSettings& settings, const RunRanks& ranks,
                            int64_t local_ranks);

}  // namespace hone

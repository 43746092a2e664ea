// The axes of --mesh: "data=2,tensor=4".
#pragma once

#include <optional>
#include <string>

#include "base/core/error.h"

namespace hone {

class RunRanks;
struct TrainSettings;

struct MeshAxes {
  std::optional<int64_t> data = {};  // none: what the others leave
  int64_t tensor = 1, pipeline = 1;
};
// Errors: H0203, whose remedy ends with `wanted`.
Result<MeshAxes> read_mesh(const std::string& text, const std::string& wanted);
Error bad_mesh(const std::string& text, const std::string& why, const std::string& wanted);

// Gives the ranks of a run the axes of its mesh, and the groups of --mics_shard_size. All ranks call it. Errors:
// H0203; H2432 they do not fit the number of ranks, or a setting does not combine with them.
Status set_mesh(const TrainSettings& settings);

// The ranks of a group that cuts states (--mics_shard_size), of these ranks, whose mesh is set; 0: all of them.
// `local_ranks`: of a machine. Errors: H2432.
Result<int64_t> shard_ranks(const TrainSettings& settings, const RunRanks& ranks,
                            int64_t local_ranks);

}  // namespace hone

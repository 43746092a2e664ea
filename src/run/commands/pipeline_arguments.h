// The arguments of hone pipeline as people write them.
#pragma once

#include <string>
#include <vector>

namespace hone {

// With names that the schema knows: a file is --pipeline, given as --config or alone; a run of show
// and cancel is --run, -o is --output.
std::vector<std::string> with_pipeline_flags(const std::vector<std::string>& args);

}  // namespace hone

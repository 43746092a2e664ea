// Reads a pipeline's file that lists its steps. pipeline.h has an example of such a file.
#pragma once

#include "operate/pipeline/config_tree.h"
#include "operate/pipeline/pipeline.h"

namespace hone {

// Returns the pipeline unchecked: it does not call check_pipeline(). Errors: H3161 a value is missing or wrong; H3162 a
// key is unknown.
Result<Pipeline> pipeline_of_steps(const ConfigTree& tree);

}  // namespace hone

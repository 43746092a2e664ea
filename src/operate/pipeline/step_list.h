// Reads a pipeline's file that lists its steps, as the example in pipeline.h.
#pragma once

#include "operate/pipeline/config_tree.h"
#include "operate/pipeline/pipeline.h"

namespace hone {

// Does not call check_pipeline(). Errors: H3161 a value is missing or wrong; H3162 a key is unknown.
Result<Pipeline> pipeline_of_steps(const ConfigTree& tree);

}  // namespace hone

// A pipeline of general steps, in the form that pipeline.h shows.
#pragma once

#include "operate/pipeline/config_tree.h"
#include "operate/pipeline/pipeline.h"

namespace hone {

// Errors: H3161, H3162.
Result<Pipeline> pipeline_of_steps(const ConfigTree& tree);

}  // namespace hone

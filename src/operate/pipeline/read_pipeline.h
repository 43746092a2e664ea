// Reads a pipeline from its file.
#pragma once

#include <string>
#include <string_view>

#include "operate/pipeline/pipeline.h"

namespace hone {

// A file with `steps` is a list of them (step_list.h); any other is the summarization pipeline
// (summarization.h). Checks the result. Errors: H3161, H3162, those of read_config_tree.
Result<Pipeline> read_pipeline(std::string_view text, const std::string& name);

}  // namespace hone

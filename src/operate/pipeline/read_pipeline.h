// A pipeline from its file.
#pragma once

#include <string>
#include <string_view>

#include "operate/pipeline/pipeline.h"

namespace hone {

// A file with `steps` is a list of them (step_list.h); any other is the summarization pipeline
// (summarization.h). The result is checked. Errors: H3161, H3162, those of read_config_tree.
Result<Pipeline> read_pipeline(std::string_view text, const std::string& name);

}  // namespace hone

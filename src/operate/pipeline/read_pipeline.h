// Reads a pipeline from its file.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "operate/pipeline/config_tree.h"
#include "operate/pipeline/pipeline.h"

namespace hone {

// A file with `steps` is a list of them (step_list.h); `recipe` makes the steps of any other. The
// result is checked. Errors: H0001 the file is empty; H3161, H3162, those of read_config_tree and of `recipe`.
Result<Pipeline> read_pipeline(std::string_view text, const std::string& name,
                               const std::function<Result<Pipeline>(const ConfigTree&)>& recipe);

}  // namespace hone

// Reads a pipeline from its file.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "operate/pipeline/config_tree.h"
#include "operate/pipeline/pipeline.h"

namespace hone {

// Reads the text of a pipeline's file; `name` is the file's name. If the file has the key "steps", pipeline_of_steps()
// (step_list.h) reads it; else `recipe` makes the steps. The result is checked by check_pipeline(). Errors: H0001 a
// .json file is empty; H3161 another file is empty, or the file is not a pipeline; H3162 a key is unknown or given
// twice; those of read_config_tree and `recipe`.
Result<Pipeline> read_pipeline(std::string_view text, const std::string& name,
                               const std::function<Result<Pipeline>(const ConfigTree&)>& recipe);

}  // namespace hone

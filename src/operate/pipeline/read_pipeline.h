// Reads a pipeline from its file.
#pragma once

#include <string>
#include <string_view>

#include "operate/pipeline/pipeline.h"
#include "operate/pipeline/recipe_task.h"

namespace hone {

// A file with `steps` is a list of them (step_list.h); any other is a recipe (recipe.h). The result is
// checked. Errors: H3161, H3162, those of read_config_tree and of `find_task`.
Result<Pipeline> read_pipeline(std::string_view text, const std::string& name,
                               const FindRecipeTask& find_task);

}  // namespace hone

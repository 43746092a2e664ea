// The tasks of the shelf, as recipes of pipelines see them.
#pragma once

#include "operate/pipeline/recipe_task.h"

namespace hone {

// By the settings of the task and the words that each decides (learn/train/ledger.h). Errors: H3161
// there is no such task.
Result<RecipeTask> recipe_task(const std::string& name);

}  // namespace hone

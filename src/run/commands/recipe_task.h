// Makes pipelines from recipes: short files that name a task, a data set and a model.
#pragma once

#include "operate/pipeline/recipe/recipe.h"

namespace hone {

struct ConfigTree;
struct Task;

// Returns true if hone serve can serve the models of a task. Also returns true if this is unknown, because the task has
// no sample project.
bool is_served_task(const Task& task);

// The pipeline of a recipe. The steps get the flags of the task; which step gets which flag depends on what the flag
// affects (learn/train/ledger.h). Errors: those of recipe_pipeline(); H3161 there is no such task.
Result<Pipeline> task_recipe(const ConfigTree& tree);

}  // namespace hone

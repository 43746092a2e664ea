// Makes pipelines from recipes: short YAML or JSON files that name a task, a data set and a model.
#pragma once

#include "operate/pipeline/recipe/recipe.h"

namespace hone {

struct ConfigTree;
struct Task;

// Returns true if hone serve can serve the models of a task, or if this is unknown because the task has no sample
// project.
bool is_served_task(const Task& task);

// The pipeline of a recipe. The recipe's flags for the task are passed to the steps that they affect
// (learn/train/ledger.h lists what each flag affects). Errors: those of recipe_pipeline(); H3161 there is no such task.
Result<Pipeline> task_recipe(const ConfigTree& tree);

}  // namespace hone

// Recipes of pipelines, with the tasks of the shelf.
#pragma once

#include "operate/pipeline/recipe/recipe.h"

namespace hone {

struct ConfigTree;
struct Task;

// Whether hone serve answers with the models of a task. True for a task without a sample project.
bool is_served_task(const Task& task);

// A task's flags come from its settings and the words that each decides (learn/train/ledger.h).
// Errors: those of recipe_pipeline; H3161 there is no such task.
Result<Pipeline> task_recipe(const ConfigTree& tree);

}  // namespace hone

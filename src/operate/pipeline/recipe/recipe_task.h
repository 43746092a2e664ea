// The facts of a task that a recipe needs. The caller knows the tasks; this room does not.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/core/error.h"

namespace hone {

struct RecipeTask {
  // Flags by spelling, with the name of the setting.
  std::map<std::string, std::string> rows;     // hone prepare, train and eval must agree on them
  std::map<std::string, std::string> reading;  // how files are read: hone prepare alone needs them
  std::map<std::string, std::string> answers;  // the others that hone train and eval must agree on
  std::string metric = "loss";                 // compares models if the file has no policy
  bool generates = false;      // evaluation generates texts (--predict_with_generate)
  bool caches_shards = false;  // hone prepare keeps the shards of each file
};

// Errors: H3161 there is no such task.
using FindRecipeTask = std::function<Result<RecipeTask>(const std::string& name)>;

}  // namespace hone

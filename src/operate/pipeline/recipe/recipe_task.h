// The facts of a task that a recipe needs. The caller knows the tasks; this room does not.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// The parts that a recipe needs of the policy of hone models decide.
struct RecipePolicy {
  std::string metric;               // without "eval_"
  std::vector<std::string> slices;  // columns
};

struct RecipeTask {
  using Flags = std::map<std::string, std::string>;  // by spelling, the name of the setting
  Flags rows = {};              // hone prepare, train and eval must agree on them
  Flags reading = {};           // how files are read: hone prepare alone needs them
  Flags answers = {};           // the others that hone train and eval must agree on
  std::string columns = {};     // of its rows, for advice: "text and label, or columns that ..."
  std::string metric = "loss";  // compares models if the file has no policy
  // That of the rows of a data set on this machine, which flags name and read; "": unknown. Null: `metric` of all rows.
  std::function<std::string(const std::vector<std::string>& flags)> metric_of_rows = {};
  std::vector<std::string> metrics = {};  // those that can compare models
  // The switch without which an evaluated row is not a row of the file and lacks its columns; "": each is one.
  std::string apart = {};
  bool generates = false;      // evaluation generates texts (--predict_with_generate)
  bool caches_shards = false;  // hone prepare keeps the shards of each file
  bool prepares = true;        // false: its rows are read as they are, by every step
  bool is_served = true;       // hone serve answers with its models
  // Reads a policy, a JSON object; `place` is for messages. Errors: those of a policy.
  std::function<Result<RecipePolicy>(const std::string& text, const std::string& place)> policy =
      {};
};

// Errors: H3161 there is no such task.
using FindRecipeTask = std::function<Result<RecipeTask>(const std::string& name)>;

}  // namespace hone

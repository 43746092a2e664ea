// The facts of a training task, such as "summarization", that a recipe needs. The caller provides them, because this
// folder does not depend on the tasks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/core/error.h"

namespace hone {

// The parts of a policy of hone models decide (operate/registry/policy.h) that a recipe needs.
struct RecipePolicy {
  std::string metric;               // without "eval_"
  std::vector<std::string> slices;  // columns
};

struct RecipeTask {
  using Flags = std::map<std::string, std::string>;  // spelling of a flag -> name of its setting
  // Flags that decide the rows of token ids: hone prepare, train and eval must agree on them.
  Flags rows = {};
  // Flags that decide how files are read: only hone prepare needs them.
  Flags reading = {};
  Flags answers = {};  // further flags that hone train and eval must agree on
  // The columns of the task's rows, for advice in messages: "text and label, or columns that ...".
  std::string columns = {};
  std::string metric = "loss";  // the metric that compares models if the recipe's policy names none
  // Returns the metric for the local data set that `flags` name; "": unknown. If null, `metric` is for all data.
  std::function<std::string(const std::vector<std::string>& flags)> metric_of_rows = {};
  std::vector<std::string> metrics = {};  // the metrics that can compare models
  // The name of a boolean flag. Only if it is true is each evaluated row a row of the file, with the file's columns.
  // "": each evaluated row always is a row of the file.
  std::string apart = {};
  bool generates = false;      // evaluation generates texts (--predict_with_generate)
  bool caches_shards = false;  // hone prepare can reuse the token shards of unchanged files
  bool prepares = true;        // false: every step reads the rows of the files as they are
  bool is_served = true;       // hone serve can answer with the task's models
  // Parses a policy, the text of a JSON object; `place` names the text in messages. Errors: those of parse_policy
  // (operate/registry/policy.h).
  std::function<Result<RecipePolicy>(const std::string& text, const std::string& place)> policy =
      {};
};

// Returns the facts of the task with this name. Error H3161: there is no such task.
using FindRecipeTask = std::function<Result<RecipeTask>(const std::string& name)>;

}  // namespace hone

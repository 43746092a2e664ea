#include "learn/harness/task.h"

#include "base/core/text.h"
#include "learn/train/errors.h"

namespace hone {

Schema described(const Task& task, const std::string& command) {
  Schema schema(command, "");
  task.settings->bind(schema);
  task.bind(schema);
  return schema;
}

Status check_best_metric(const Task& task) {
  const std::string& given = task.settings->metric_for_best_model;
  const std::string bare = given.starts_with("eval_") ? given.substr(5) : given;
  const std::vector<std::string> known = task.metrics();
  std::string near = bare.empty() ? "" : nearest_name(bare, known);
  for (const std::string& name : known)  // "acc"
    if (near.empty() && bare.size() > 2 && name.starts_with(bare)) near = name;
  if (near.empty() || bare.starts_with(near)) return Ok{};
  return Error(err::kNoMetric,
               fmt::format("evaluations of the task {} have no metric '{}'", task.name, bare))
      .at("--metric_for_best_model " + given)
      .todo(fmt::format("did you mean '{}'? 'hone help metrics' lists those of each task", near));
}

}  // namespace hone

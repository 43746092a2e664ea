#include "run/commands/metric_table.h"

#include "base/core/table.h"
#include "base/core/text.h"
#include "learn/tasks/tasks.h"
#include "run/commands/screen.h"

namespace hone {

std::string metric_table() {
  TextTable table({{.name = "task"},
                   {.name = "compared by"},
                   {.name = "other metrics", .kind = Column::kSentence}});
  for (const Task& task : all_task()) {
    std::vector<std::string> others = task.metrics();
    std::erase(others, task.metric);
    table.add({task.name, task.metric, join(others, ", ")});
  }
  return table.text(screen_width()) +
         "\nEvaluations print a metric with 'eval_' before its name. Some depend on the labels: "
         "one "
         "number a row has\nno accuracy. hone check --policy_metric NAME says whether your rows "
         "give it.\nA policy compares two versions by one metric, with a floor and a smallest "
         "gain: "
         "docs/registry.md, 'The decision'.\n";
}

}  // namespace hone

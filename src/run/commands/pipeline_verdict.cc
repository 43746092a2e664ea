#include "run/commands/pipeline_verdict.h"

#include "base/core/text.h"
#include "operate/pipeline/recipe/recipe_reader.h"
#include "operate/registry/compare_versions.h"
#include "operate/registry/policy.h"

namespace hone {
namespace {

std::optional<DecidingMetric> metric_of_decision(const OrderedJson& result) {
  const OrderedJson& evidence = value_at(result, "evidence");
  const std::string name = text_at(evidence, "metric");
  for (const OrderedJson* value :
       {&value_at(value_at(evidence, "comparison"), "version"), &value_at(evidence, "value")})
    if (!name.empty() && value->is_number()) return DecidingMetric{name, value->get<double>()};
  return std::nullopt;
}

// The rows of the last step that saved some; else all that is known is their number and the step's content.
OrderedJson evaluated_in_steps(const std::string& folder, const std::vector<StepRow>& steps) {
  OrderedJson saved, numbered = {{"folder", folder}};
  for (const StepRow& step : steps) {
    if (OrderedJson rows = evaluated_in(folder + "/" + step.name, step.result); !rows.is_null())
      saved = std::move(rows);
    if (const OrderedJson& samples = value_at(step.result, "eval_samples"); samples.is_number())
      numbered = {{"samples", samples}, {"step", step.hash}};
  }
  return saved.is_null() ? numbered : saved;
}

}  // namespace

RunVerdict verdict_of(const std::string& root, const PipelineRunRow& run,
                      const std::vector<StepRow>& steps) {
  RunVerdict v;
  for (const StepRow& step : steps) {
    if (text_at(step.result, "verdict").empty()) continue;
    v = {text_at(step.result, "verdict"),
         text_at(step.result, "reason"),
         metric_of_decision(step.result),
         {}};
  }
  const std::string wanted = text_at(value_at(run.config, "policy"), "metric"),
                    task = text_at(run.config, "task");
  for (const StepRow& step : steps)
    if (!v.metric)
      v.metric = deciding_metric(step.result, task.empty() ? Recipe().task : task, nullptr, wanted);
  v.evaluated = evaluated_in_steps(root + "/" + run.id, steps);
  if (v.metric) v.metric->name = bare_metric(v.metric->name);
  if (v.metric && v.metric->name == "loss_per_token")
    v.metric->name = "loss";  // as decisions name it
  return v;
}

}  // namespace hone

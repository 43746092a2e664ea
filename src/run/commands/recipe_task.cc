#include "run/commands/recipe_task.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/tasks/tasks.h"
#include "learn/train/ledger.h"
#include "operate/pipeline/errors.h"
#include "operate/registry/policy.h"
#include "operate/serve/served_model.h"

namespace hone {
namespace {

// "" if the rows cannot be read: the step check says why.
std::string metric_of_flags(const std::string& task_name, const std::vector<std::string>& flags) {
  const Task task = find_task(task_name);
  Schema schema = described(task);
  if (!schema.parse(flags, {}).ok()) return "";
  task.settings->do_train = task.settings->do_eval = true;
  const Result<std::string> metric = task.metric_of_rows();
  return metric.ok() ? *metric : "";
}

// "prompt, chosen and rejected".
std::string list_text(const std::vector<std::string>& words) {
  if (words.size() < 2) return join(words, "");
  return join({words.begin(), words.end() - 1}, ", ") + " and " + words.back();
}

bool names_columns(const Setting& setting) {
  if (!decides(setting, "reading") && !decides(setting, "rows")) return false;
  for (const char* end : {"_column", "_column_name", "_column_names", "_text_field"})
    if (setting.name.ends_with(end)) return true;
  return false;
}

// The columns of a row of the task, and the flags that name others.
std::string columns_of(const Task& task, const Schema& schema, bool prepares) {
  std::vector<std::string> forms, names, flags;
  if (task.sample && task.sample->row) {
    const OrderedJson row = task.sample->row(0);
    for (const auto& [name, value] : row.items()) names.push_back(name);
    forms.push_back(list_text(names));
  }
  if (task.sample && task.sample->other_columns) forms.emplace_back(task.sample->other_columns);
  for (const Setting& setting : schema.all())
    if (names_columns(setting)) flags.push_back(setting.name);
  if (!flags.empty())
    forms.push_back(fmt::format("columns that '{}' names by {}", prepares ? "preprocess" : "train",
                                list_text(flags)));
  return join(forms, ", or ");
}

RecipeTask recipe_task_of(const Task& task) {
  RecipeTask out;
  const Schema schema = described(task);
  for (const Setting& setting : schema.all()) {
    // A setting of files that also decides the model (task_name of GLUE), or that is kept with it, counts wherever a
    // model is.
    const bool with_model = decides(setting, "model") || decides(setting, "answers");
    const bool rows = decides(setting, "rows") || decides(setting, "tokenizer") ||
                      (decides(setting, "reading") && with_model);
    const bool reading = decides(setting, "reading");
    if (!rows && !reading && !decides(setting, "answers")) continue;
    auto& flags = rows ? out.rows : reading ? out.reading : out.answers;
    flags[setting.name] = setting.name;
    for (const std::string& alias : setting.aliases) flags[alias] = setting.name;
  }
  out.metric = task.metric;
  out.metrics = task.metrics();
  if (task.metric_of_rows)
    out.metric_of_rows = [name = task.name](const std::vector<std::string>& flags) {
      return metric_of_flags(name, flags);
    };
  if (task.text) out.apart = task.text->apart;
  out.policy = [](const std::string& text, const std::string& place) -> Result<RecipePolicy> {
    DecisionPolicy policy = HONE_TRY(parse_policy(text, place));
    return RecipePolicy{std::move(policy.metric), std::move(policy.slices)};
  };
  out.generates = has_setting(schema, "predict_with_generate");
  out.prepares = task.text || task.prepared;
  out.is_served = is_served_task(task);
  out.columns = columns_of(task, schema, out.prepares);
  out.caches_shards = task.prepared && task.prepared->splits_by_file;
  return out;
}

Result<RecipeTask> recipe_task(const std::string& name) {
  std::vector<std::string> names;
  for (const Task& task : all_task()) {
    if (task.name == name) return recipe_task_of(task);
    names.push_back(task.name);
  }
  const std::string near = nearest_name(name, names);
  return Error(err::kPipelineFile, fmt::format("there is no task '{}'", name))
      .todo(near.empty() ? "name one of " + join(names, ", ")
                         : fmt::format("did you mean {}?", near));
}

}  // namespace

bool is_served_task(const Task& task) {
  if (!task.sample) return true;
  Result<ModelConfig> config = read_model_config(Json(task.sample->model.config));
  if (!config.ok()) return true;
  (void)task.choose_head(*config);  // an error of other settings comes after the head is set
  return config->embedding || served_task(config->head).has_value();
}

Result<Pipeline> task_recipe(const ConfigTree& tree) { return recipe_pipeline(tree, recipe_task); }

}  // namespace hone

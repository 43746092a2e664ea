// The recipe of a pipeline with every flag of every task: hone prepare, train and eval get those that
// decide rows, hone prepare alone those of reading, if the task's rows are prepared.
#include "run/commands/recipe_task.h"

#include <gtest/gtest.h>

#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "learn/tasks/tasks.h"
#include "learn/train/ledger.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/read_pipeline.h"

namespace hone {
namespace {

bool has_flag(const Pipeline& p, const char* step, const std::string& name) {
  const auto* found = p.find(step);  // images are not prepared
  if (!found) return false;
  const auto& command = found->command;
  return std::find(command.begin(), command.end(), "--" + name) != command.end();
}

Result<Pipeline> recipe_with(const std::string& task, const std::string& flag) {
  const OrderedJson recipe = {
      {"dataset", "data"}, {"model_checkpoint", "model"}, {"task", task}, {"train", {{flag, "x"}}}};
  return read_pipeline(dump_json(recipe), "recipe.json", task_recipe);
}

TEST(RecipeTask, EachFlagReachesTheStepsThatNeedIt) {
  for (const Task& task : all_task()) {
    int rows = 0, reading = 0;
    // The settings that hone prepare takes from the task.
    Schema prepared("hone prepare", "");
    task.settings->DataSettings::bind(prepared);
    task.bind(prepared);
    prepared.add("tokenizer_name", &task.settings->tokenizer_name, "", "");
    const Schema schema = described(task);
    for (const Setting& setting : schema.all()) {
      const auto p = recipe_with(task.name, setting.name);
      if (!p.ok()) {  // the pipeline sets it
        EXPECT_EQ(p.error().code(), std::string(err::kPipelineKey.id)) << setting.name;
        continue;
      }
      const std::string where = task.name + " --" + setting.name;
      const bool in_prepare = has_flag(*p, "preprocess", setting.name);
      if (decides(setting, "rows") || decides(setting, "tokenizer")) {
        for (const char* step : {"preprocess", "train", "evaluate"})
          EXPECT_EQ(has_flag(*p, step, setting.name), p->find(step) != nullptr)
              << where << " in " << step;
        ++rows;
      } else if (decides(setting, "reading") && !decides(setting, "model") &&
                 !decides(setting, "answers")) {
        const bool prepares = p->find("preprocess") != nullptr;
        EXPECT_EQ(in_prepare, prepares) << where;
        EXPECT_EQ(has_flag(*p, "train", setting.name), !prepares) << where;
        EXPECT_EQ(has_flag(*p, "evaluate", setting.name), !prepares) << where;
        ++reading;
      } else if (!in_prepare) {
        EXPECT_TRUE(has_flag(*p, "train", setting.name)) << where;
      }
      if (decides(setting, "answers")) {
        EXPECT_TRUE(has_flag(*p, "train", setting.name)) << where;
        EXPECT_TRUE(has_flag(*p, "evaluate", setting.name)) << where;
      }
      EXPECT_TRUE(!in_prepare || has_setting(prepared, setting.name))
          << where << " is not a flag of hone prepare";
    }
    EXPECT_GT(rows, 1) << task.name;
    EXPECT_GT(reading, 1) << task.name;
  }
}

TEST(RecipeTask, TheMetricOfATaskIsOneThatItsRowsGive) {
  for (const Task& task : all_task()) {
    const std::vector<std::string> names = task.metrics();
    EXPECT_NE(std::find(names.begin(), names.end(), task.metric), names.end()) << task.name;
    const auto p = recipe_with(task.name, "seed");
    ASSERT_TRUE(p.ok()) << p.error().text();
    EXPECT_EQ(p->metric, task.metric);
  }
}

// The rows of a data set on this machine decide, where their form does.
TEST(RecipeTask, TheUsualMetricIsOneThatTheRowsGive) {
  const TemporaryFolder folder;
  const auto metric = [&](const std::string& task, const std::string& row) {
    EXPECT_TRUE(file_store().write(folder.path + "/rows.jsonl", row + "\n").ok());
    const OrderedJson recipe = {
        {"dataset", folder.path + "/rows.jsonl"}, {"model_checkpoint", "model"}, {"task", task}};
    const auto p = read_pipeline(dump_json(recipe), "recipe.json", task_recipe);
    return p.ok() ? p->metric : p.error().text();
  };
  EXPECT_EQ(metric("embedding", R"({"anchor": "a", "positive": "b"})"), "cosine_ndcg@10");
  EXPECT_EQ(metric("embedding", R"({"a": "a", "b": "b", "score": 0.5})"), "spearman_cosine");
  EXPECT_EQ(metric("embedding", R"({"a": "a", "b": "b", "c": "c"})"), "cosine_accuracy");
  EXPECT_EQ(metric("rerank", R"({"query": "a", "text": "b", "label": 1})"), "average_precision");
  EXPECT_EQ(metric("rerank", R"({"query": "a", "text": "b", "score": 0.5})"), "pearson");
}

TEST(RecipeTask, ModelsOfEveryTaskAreServedAndDeployed) {
  for (const Task& task : all_task())
    EXPECT_NE(recipe_with(task.name, "seed").value().find("deploy"), nullptr) << task.name;
}

TEST(RecipeTask, TheGlueTaskCountsWhereverAModelIs) {
  const auto p = recipe_with("classification", "task_name");
  ASSERT_TRUE(p.ok()) << p.error().text();
  for (const char* step : {"preprocess", "train", "evaluate"})
    EXPECT_TRUE(has_flag(*p, step, "task_name")) << step;
}

TEST(RecipeTask, AnUnknownTaskGetsTheNearestName) {
  const auto p = recipe_with("clasification", "seed");
  ASSERT_FALSE(p.ok());
  EXPECT_EQ(p.error().code(), std::string(err::kPipelineFile.id));
  EXPECT_NE(p.error().text().find("did you mean classification?"), std::string::npos);
}

// The columns of summarization mean nothing for other tasks: the advice must name flags that the file may have.
TEST(RecipeTask, TheAdviceForAColumnIsTrueForEachTask) {
  for (const Task& task : all_task()) {
    OrderedJson recipe = {{"dataset", "data"},
                          {"model_checkpoint", "model"},
                          {"task", task.name},
                          {"document_column", "source"}};
    const auto refused = read_pipeline(dump_json(recipe), "recipe.json", task_recipe);
    const Schema schema = described(task);
    if (has_setting(schema, "summary_column")) continue;
    ASSERT_FALSE(refused.ok()) << task.name;
    const std::string advice = refused.error().remedy();
    EXPECT_TRUE(advice.starts_with("leave it out: rows have ")) << task.name << ": " << advice;
    recipe.erase("document_column");
    const bool prepares = task.text || task.prepared;
    for (const Setting& setting : schema.all())
      if (setting.name.find("_column") != std::string::npos &&
          advice.find(setting.name) != std::string::npos) {
        recipe[prepares ? "preprocess" : "train"] = {{setting.name, "x"}};
        const auto p = read_pipeline(dump_json(recipe), "recipe.json", task_recipe);
        EXPECT_TRUE(p.ok()) << task.name << ": " << setting.name;
      }
    const std::string of_sft =
        "leave it out: rows have prompt and completion, or messages, or instruction and output, or "
        "columns that 'preprocess' names by dataset_text_field";
    EXPECT_EQ(advice == of_sft, task.name == "sft") << advice;
  }
}

}  // namespace
}  // namespace hone

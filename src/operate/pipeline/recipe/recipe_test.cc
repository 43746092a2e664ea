#include "operate/pipeline/recipe/recipe.h"

#include <cstdlib>
#include <filesystem>

#include "base/core/process.h"
#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/read_pipeline.h"

namespace hone {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char* kFlat =
    R"({"dataset": "cnn_dailymail", "dataset_subset": "3.0.0", "document_column": "article",
  "summary_column": "highlights", "cluster_prefix": "t5node", "zone": "us-central1-a", "node_count": 2,
  "model_checkpoint": "t5-small", "machine_type": "a2-megagpu-16g", "gpu_type": "nvidia-tesla-a100",
  "gpu_count": 16, "batch_size": 128, "epochs": 3, "model_display_name": "t5",
  "deploy_machine_type": "n1-standard-32", "deploy_gpu_type": "NVIDIA_TESLA_V100", "deploy_gpu_count": 4})";
const char* kNested =
    R"({"dataset": "cnn_dailymail", "dataset_subset": "3.0.0", "document_column": "article",
  "summary_column": "highlights", "cluster_config": {"name_prefix": "t5node", "zone": "us-central1-a",
  "node_count": 2, "machine_type": "a2-megagpu-16g", "gpu_type": "nvidia-tesla-a100", "gpu_count": 16},
  "train_config": {"model_checkpoint": "t5-small", "batch_size": 128, "epochs": 3},
  "model_display_name": "t5", "deploy_config": {"machine_type": "n1-standard-32",
  "gpu_type": "NVIDIA_TESLA_V100", "gpu_count": 4}})";

Result<RecipePolicy> test_policy(const std::string& text, const std::string& place) {
  const OrderedJson policy = HONE_TRY(parse_ordered_json(text, place));
  std::string metric = text_at(policy, "metric");
  if (metric.starts_with("eval_")) metric = metric.substr(5);
  return RecipePolicy{metric, policy.value("slices", std::vector<std::string>())};
}

// Tasks with some of the flags that hone's have.
Result<RecipeTask> test_task(const std::string& name) {
  if (name == "summarization")
    return RecipeTask{
        .rows = {{"max_source_length", "max_source_length"}, {"source_prefix", "source_prefix"}},
        .reading = {{"validation_split_percentage", "validation_split_percentage"},
                    {"summary_column", "summary_column"}},
        .metric = "rougeLsum",
        .metrics = {"rouge1", "rougeLsum", "loss"},
        .generates = true,
        .caches_shards = true,
        .policy = test_policy};
  if (name == "sft")
    return RecipeTask{.rows = {{"max_length", "max_length"},
                               {"max_seq_length", "max_length"},
                               {"packing", "packing"}},
                      .reading = {{"data_format", "data_format"}},
                      .metrics = {"loss", "perplexity"},
                      .apart = "packing",
                      .policy = test_policy};
  return Error(err::kPipelineFile, fmt::format("there is no task '{}'", name));
}

Result<Pipeline> pipeline_from(std::string_view text, const std::string& name) {
  return read_pipeline(text, name,
                       [](const ConfigTree& tree) { return recipe_pipeline(tree, test_task); });
}

std::string with(std::string text, const std::string& more) {
  text.insert(text.rfind('}'), ", " + more);
  return text;
}

TEST(Recipe, BothShapesAreTheSamePipeline) {
  const Pipeline flat = pipeline_from(kFlat, "flat.json").value();
  const Pipeline nested = pipeline_from(kNested, "nested.json").value();
  ASSERT_EQ(flat.steps.size(), nested.steps.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < flat.steps.size(); ++i) {
    names.push_back(flat.steps[i].name);
    EXPECT_EQ(flat.steps[i].command, nested.steps[i].command);
    EXPECT_EQ(flat.steps[i].machine.gpu_count, nested.steps[i].machine.gpu_count);
  }
  EXPECT_THAT(names, ElementsAre("download", "check", "preprocess", "train", "evaluate", "register",
                                 "should-deploy", "deploy"));
  EXPECT_THAT(flat.find("preprocess")->needs, ElementsAre("check", "download"));
  EXPECT_EQ(flat.metric, "rougeLsum");
  const std::string train = shell_line(flat.find("train")->command);
  EXPECT_THAT(train, HasSubstr("--source_prefix 'summarize: '"));
  EXPECT_THAT(train, HasSubstr("--per_device_train_batch_size 128"));
  EXPECT_THAT(train, HasSubstr("--num_train_epochs 3.0"));
  EXPECT_EQ(flat.find("deploy")->when, "${steps.should-deploy.verdict} == promote");
  EXPECT_THAT(shell_line(flat.plan), HasSubstr("--device 2x16xA100-40GB --network_gbit 100"));
  EXPECT_THAT(
      fmt::format("{}", fmt::join(flat.says, "\n")),
      testing::AllOf(HasSubstr("gradient_accumulation_steps\": 32"),
                     HasSubstr("'cnn_dailymail' is not here, so it is a data set of the hub")));
}

// A task whose rows are not prepared reads the data set in every step.
TEST(Recipe, ImagesAreReadAsTheyAre) {
  const std::string text =
      R"({"task": "pictures", "dataset": "gs://b/pets", "model_checkpoint": "org/vit"})";
  const auto read = [](const std::string& file) {
    return read_pipeline(file, "p.json", [](const ConfigTree& tree) {
      return recipe_pipeline(tree, [](const std::string& name) -> Result<RecipeTask> {
        RecipeTask task = HONE_TRY(test_task("summarization"));
        HONE_BUG_IF(name != "pictures", "another task");
        task.prepares = false;
        task.reading.erase("summary_column");
        return task;
      });
    });
  };
  const Result<Pipeline> made = read(text);
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(made->find("preprocess"), nullptr);
  for (const char* step : {"check", "train", "evaluate"})
    EXPECT_THAT(shell_line(made->find(step)->command), HasSubstr("--dataset_name gs://b/pets"));
  EXPECT_THAT(shell_line(made->find("download")->command), testing::Not(HasSubstr("pets")));
  EXPECT_THAT(made->find("train")->needs, testing::Contains("check"));
  EXPECT_THAT(read(with(text, R"("preprocess": {"max_shard_size": "1MiB"})")).error().what(),
              HasSubstr("are not prepared"));
}

// A task that hone serve has no answers for ends with the decision, and says so.
TEST(Recipe, WithoutAServerThereIsNoDeployment) {
  const auto read = [](bool is_served) {
    const auto find = [is_served](const std::string& name) -> Result<RecipeTask> {
      RecipeTask task = HONE_TRY(test_task(name));
      task.is_served = is_served;
      return task;
    };
    return read_pipeline(kFlat, "p.json",
                         [&](const ConfigTree& tree) { return recipe_pipeline(tree, find); })
        .value();
  };
  const auto says = [](const Pipeline& p) { return fmt::format("{}", fmt::join(p.says, "\n")); };
  EXPECT_NE(read(true).find("deploy"), nullptr);
  EXPECT_THAT(says(read(true)), testing::Not(HasSubstr("left out")));
  EXPECT_EQ(read(false).find("deploy"), nullptr);
  EXPECT_NE(read(false).find("should-deploy"), nullptr);
  EXPECT_THAT(says(read(false)), HasSubstr("deploy      left out"));
}

// The cluster keys say how many ranks train, once the file says what starts them.
TEST(Recipe, ALauncherStartsARankForEachGpu) {
  const auto train = [](const std::string& more) {
    const Pipeline p = pipeline_from(with(kFlat, more), "c.json").value();
    EXPECT_TRUE(p.find("train")->continues);
    return shell_line(p.find("train")->command);
  };
  EXPECT_THAT(train(R"("pipeline_root": "runs")"), ::testing::StartsWith("hone train --task"));
  EXPECT_THAT(
      train(R"("launcher": "local")"),
      ::testing::StartsWith("hone launch --num_processes 32 --launcher local -- train --task"));
  EXPECT_THAT(train(R"("launcher": "slurm")"),
              ::testing::StartsWith("hone launch --num_machines 2 --processes_per_machine 16 "
                                    "--launcher slurm -- train"));
  EXPECT_THAT(train(R"("hostfile": "my hosts")"),
              ::testing::StartsWith("hone launch --num_machines 2 --processes_per_machine 16 "
                                    "--hostfile 'my hosts' -- train"));
  const Pipeline p = pipeline_from(with(kFlat, R"("launcher": "local")"), "c.json").value();
  const std::string says = fmt::format("{}", fmt::join(p.says, "\n"));
  EXPECT_THAT(says, HasSubstr("32 ranks train, the other steps run here"));
  EXPECT_THAT(says, ::testing::Not(HasSubstr("gradient_accumulation_steps")));
}

TEST(Recipe, OwnConfigsAreRead) {
  for (const char* name : {"small1vm1gpu", "small2vm16gpu", "xxl2vm16gpu", "xxl8vm16gpu"}) {
    const std::string file = std::string(HONE_SOURCE_DIR "/configs/") + name + ".json";
    const auto p = pipeline_from(file_store().read(file).value(), file);
    EXPECT_TRUE(p.ok()) << (p.ok() ? "" : p.error().text());
  }
}

TEST(Recipe, TheExamplesThatPeopleHaveAreRead) {
  const char* data = std::getenv("HONE_DATA");
  const std::string folder =
      std::string(data != nullptr ? data : HONE_SOURCE_DIR "/../shared/data") +
      "/ref-llm-pipeline-examples";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  for (const char* name : {"bart2vm16gpu", "small1vm1gpu", "small2vm16gpu", "xxl16vm8a2plus",
                           "xxl16vma3", "xxl2vm16gpu", "xxl8vm16gpu"}) {
    const std::string file = folder + "/" + name + ".json";
    const auto p = pipeline_from(file_store().read(file).value(), file);
    ASSERT_TRUE(p.ok()) << p.error().text();
    EXPECT_FALSE(p->plan.empty()) << name;
    const bool t5 = std::string(name) != "bart2vm16gpu";
    EXPECT_EQ(shell_line(p->find("train")->command).find("summarize: ") != std::string::npos, t5);
  }
}

TEST(Recipe, BlocksTakeFlags) {
  const Pipeline p =
      pipeline_from(
          with(kFlat, R"("train": {"max_source_length": 64, "learning_rate": 1e-3, "bf16": true,
        "validation_split_percentage": 10}, "generate": {"num_beams": 4},
        "evaluate": {"max_eval_samples": 50}, "policy": {"metric": "eval_rouge1"})"),
          "c.json")
          .value();
  const auto text = [&](const char* step) { return shell_line(p.find(step)->command); };
  EXPECT_THAT(text("train"), HasSubstr("--learning_rate 0.001 --bf16 true --num_beams 4"));
  EXPECT_THAT(text("train"), ::testing::Not(HasSubstr("validation_split")));
  EXPECT_THAT(text("preprocess"), HasSubstr("--max_source_length 64"));
  EXPECT_THAT(text("preprocess"), HasSubstr("--validation_split_percentage 10"));
  EXPECT_THAT(text("evaluate"), HasSubstr("--max_source_length 64"));
  EXPECT_THAT(text("evaluate"), HasSubstr("--num_beams 4 --max_eval_samples 50"));
  EXPECT_THAT(p.find("should-deploy")->command, Contains(R"({"metric": "eval_rouge1"})"));
}

std::string command_of(const Pipeline& p, const char* step) {
  return shell_line(p.find(step)->command);
}

TEST(Recipe, FlagsThatDecideRowsReachEveryStepFromAnyBlock) {
  for (const char* block : {"preprocess", "train", "generate", "evaluate"}) {
    const Pipeline p =
        pipeline_from(fmt::format(R"({{"dataset": "x", "model_checkpoint": "y", "task": "sft",
            "{}": {{"max-seq-length": 64, "data_format": "json"}}}})",
                                  block),
                      "c.json")
            .value();
    for (const char* step : {"preprocess", "train", "evaluate"}) {
      EXPECT_THAT(command_of(p, step), HasSubstr("--max_seq_length 64")) << block;
      EXPECT_EQ(command_of(p, step).find("--data_format json") != std::string::npos,
                std::string(step) == "preprocess")
          << block;
    }
  }
}

TEST(Recipe, SlicesReachTheStepsThatKeepThem) {
  const Pipeline p =
      pipeline_from(with(kFlat, R"("policy": {"metric": "rouge1", "slices": ["language"]},
          "evaluate": {"slice_columns": ["length", "language"]})"),
                    "c.json")
          .value();
  EXPECT_THAT(command_of(p, "check"), HasSubstr("--policy_metric"));
  for (const char* step : {"check", "preprocess", "evaluate"})
    EXPECT_THAT(command_of(p, step), HasSubstr("--slice_columns length language")) << step;
  std::string columns;
  for (const PipelineColumn& c : p.columns)
    columns += fmt::format("{} {} {}; ", c.name, c.place, c.only_evaluated);
  EXPECT_THAT(columns, HasSubstr("article c.json:1:"));
  EXPECT_THAT(columns, ::testing::ContainsRegex("language c.json:5:[0-9]+ true"));
}

TEST(Recipe, PlacesOfThisMachineAreThere) {
  const TemporaryFolder folder;
  ASSERT_TRUE(file_store().write(folder.path + "/train.jsonl", "{}\n").ok());
  const auto said = [&](const std::string& key, const std::string& place) {
    OrderedJson recipe = parse_ordered_json(kFlat, "kFlat").value();
    recipe[key] = place;
    const auto p = pipeline_from(dump_json(recipe), "c.json");
    return p.ok() ? "" : p.error().text();
  };
  for (const char* key : {"dataset", "model_checkpoint"}) {
    EXPECT_THAT(said(key, "./none"), HasSubstr("there is no './none' here"));
    EXPECT_THAT(said(key, folder.path + "/tarin.jsonl"), HasSubstr("c.json:1:"));
    EXPECT_EQ(said(key, folder.path), "");
    EXPECT_EQ(said(key, "owner/name"), "");
  }
  // A name that is nearly one beside the file.
  const auto beside = [&](const std::string& key, const std::string& name) {
    OrderedJson recipe = parse_ordered_json(kFlat, "kFlat").value();
    recipe[key] = name;
    const auto p = pipeline_from(dump_json(recipe), folder.path + "/c.json");
    return p.ok() ? "" : p.error().text();
  };
  for (const char* name : {"rows", "gpt2-news", "rows2"})
    ASSERT_TRUE(file_store().make_dirs(folder.path + "/" + name).ok());
  for (const char* key : {"dataset", "model_checkpoint"}) {
    EXPECT_THAT(beside(key, "rowss"), HasSubstr("did you mean 'rows'?"));
    EXPECT_EQ(beside(key, "hf://rowss"), "");
    for (const char* name : {"gpt2", "rows3", "ro"}) EXPECT_EQ(beside(key, name), "") << name;
  }
}

TEST(Recipe, ColumnsOfFlagsAreColumnsOfTheFiles) {
  OrderedJson recipe = parse_ordered_json(kFlat, "kFlat").value();
  recipe.erase("summary_column");
  recipe["preprocess"] = {{"summary_column", "abstract"}};
  const auto columns = [&] {
    const Pipeline p = pipeline_from(dump_json(recipe), "c.json").value();
    std::string all;
    for (const PipelineColumn& c : p.columns) all += fmt::format("{} {}; ", c.name, c.place);
    return all;
  };
  EXPECT_THAT(columns(), HasSubstr("abstract c.json:1:"));
  recipe["preprocess"]["column_names"] = {"article", "abstract"};
  EXPECT_EQ(columns().find("abstract"), std::string::npos) << "the files have no names of columns";
}

TEST(Recipe, APolicyAsksForWhatTheEvaluationGives) {
  const auto refused = [](const std::string& policy, const std::string& task,
                          const std::string& more = "") {
    const auto p =
        pipeline_from(fmt::format("dataset: a\nmodel_checkpoint: b\ntask: {}\npolicy: {}\n{}", task,
                                  policy, more),
                      "c.yaml");
    return p.ok() ? "" : p.error().text();
  };
  const std::string metric = refused("{metric: eval_rouge_1}", "summarization");
  EXPECT_THAT(metric, HasSubstr("the evaluation of summarization has no metric 'rouge_1'"));
  EXPECT_THAT(metric, HasSubstr("did you mean rouge1? the metrics are rouge1, rougeLsum, loss"));
  EXPECT_THAT(metric, HasSubstr("c.yaml:4:"));
  const std::string joined = refused("{slices: [language]}", "sft");
  EXPECT_THAT(joined, HasSubstr("is not a row of the file"));
  EXPECT_THAT(joined, HasSubstr("set packing to true"));
  EXPECT_THAT(refused("{slices: [language]}", "sft", "train: {packing: false}\n"),
              HasSubstr("is not a row of the file"));
  EXPECT_EQ(refused("{slices: [language]}", "sft", "train: {packing: true}\n"), "");
  EXPECT_THAT(refused("policy.json", "sft"), HasSubstr("write the policy here as an object"));
  EXPECT_EQ(refused("{floor: 3}", "sft"), "") << "the metric of the task counts";
}

std::string code_of(const std::string& text, const std::string& name = "c.json") {
  const auto p = pipeline_from(text, name);
  return p.ok() ? "" : p.error().code();
}
std::string text_of(const std::string& text, const std::string& name = "c.json") {
  const auto p = pipeline_from(text, name);
  return p.ok() ? "" : p.error().text();
}

TEST(Recipe, WhatIsGivenTwiceIsRefused) {
  const std::string twice = err::kPipelineKey.id;
  EXPECT_EQ(code_of(with(kFlat, R"("epochs": 4)")), twice);
  EXPECT_EQ(code_of(with(kFlat, R"("train_config": {"epochs": 4})")), twice);
  EXPECT_EQ(code_of(with(kNested, R"("gpu_count": 4)")), twice);
  EXPECT_EQ(code_of(with(kFlat, R"("train": {"num_train_epochs": 4})")), twice);
  EXPECT_EQ(code_of(with(kFlat, R"("train": {"output_dir": "x"})")), twice);
  for (const char* secret : {"token", "hub_token", "my-api-key"})
    EXPECT_EQ(code_of(with(kFlat, fmt::format(R"("train": {{"{}": "x"}})", secret))), twice);
  EXPECT_THAT(text_of(with(kFlat, R"("train_config": {"epochs": 4})")), HasSubstr("c.json:5:"));
  // In two blocks or two spellings.
  EXPECT_EQ(code_of(with(kFlat, R"("train": {"max_source_length": 64},
                                   "evaluate": {"max_source_length": 32})")),
            twice);
  EXPECT_EQ(code_of(R"({"dataset": "x", "model_checkpoint": "y", "task": "sft",
                        "train": {"max_length": 64, "max_seq_length": 32}})"),
            twice);
  EXPECT_EQ(code_of("dataset: a\nmodel_checkpoint: b\ndataset: c\n", "c.yaml"), twice);
}

TEST(Recipe, AnUnknownTaskIsToldAtItsKey) {
  const std::string text = text_of("dataset: a\nmodel_checkpoint: b\ntask: mml\n", "c.yaml");
  EXPECT_THAT(text, HasSubstr("there is no task 'mml'"));
  EXPECT_THAT(text, HasSubstr("c.yaml:3:"));
}

TEST(Recipe, UnknownKeysGetTheNearestName) {
  EXPECT_THAT(text_of(with(kFlat, R"("epoch": 4)")), HasSubstr("did you mean epochs?"));
  EXPECT_THAT(text_of(with(kFlat, R"("deploy_config": {"gpu_cont": 4})")),
              HasSubstr("did you mean gpu_count?"));
  EXPECT_EQ(code_of(R"({"dataset": "x"})"), err::kPipelineFile.id);
  EXPECT_EQ(code_of(R"({"dataset": "x", "model_checkpoint": "y", "batch_size": "many"})"),
            err::kPipelineFile.id);
  EXPECT_EQ(code_of(R"({"dataset": "x", "model_checkpoint": "y", "batch_size": 0})"),
            err::kPipelineFile.id);
}

}  // namespace
}  // namespace hone

#include "operate/pipeline/recipe/recipe.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/core/url.h"
#include "base/store/hub.h"
#include "base/store/store.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/recipe/recipe_machines.h"
#include "operate/pipeline/recipe/recipe_reader.h"

namespace hone {
namespace {

using Words = std::vector<std::string>;

bool is_t5(const std::string& model) {
  if (const auto text = file_store().read(without_end_slash(model) + "/config.json"); text.ok())
    if (const auto config = parse_json(*text, "config.json"); config.ok())
      return text_at(*config, "model_type") == "t5";
  const std::string name = to_lower(last_part(model));
  return name == "t5" || name.starts_with("t5-") || name.starts_with("flan-t5");
}

// A path or URL whose content is known; not a name of the hub.
bool has_content(const std::string& place) {
  if (place.starts_with("hf://")) return false;
  const auto info = file_store().info(place);
  return info.ok() ? info->exists : is_url(place);
}

// Whether it is meant as a place on this machine: names on the hub are NAME or OWNER/NAME.
bool is_path(const std::string& place) {
  if (place.starts_with("./") || place.starts_with("../") || place.starts_with('/')) return true;
  const size_t slash = place.find('/');
  return slash != std::string::npos && has_content(place.substr(0, slash));
}

// A name that is nearly one of this folder, or of that of the recipe's file, was not meant for the hub.
Status check_spelling(const std::string& key, const std::string& value, const std::string& folder,
                      const std::string& place) {
  std::string near = misspelt_place(value);
  if (near.empty() && !folder.empty()) near = misspelt_place(value, folder);
  if (near.empty()) return Ok{};
  const bool model = key == "model_checkpoint";
  return Error(err::kPipelineFile, fmt::format("there is no '{}' here, but '{}'", value, near))
      .at(place)
      .todo(fmt::format("did you mean '{}'? If it is a {} of the hub, write hf://{}{}", near,
                        model ? "model" : "data set", model ? "" : "datasets/", value));
}

// Paths are those of the folder where hone was started. H3161: nothing is there, or it is beside the recipe's file.
Status check_paths(const RecipeReader& reader, const Recipe& r, const std::string& file) {
  const size_t slash = file.rfind('/');
  if (is_url(file)) return Ok{};
  const std::string folder = slash == std::string::npos ? "" : file.substr(0, slash);
  for (const auto& [key, value] :
       {std::pair("model_checkpoint", r.model_checkpoint), {"dataset", r.dataset}}) {
    if (is_url(value) || has_content(value)) continue;
    const bool beside = !folder.empty() && has_content(folder + "/" + value);
    if (!beside && !is_path(value)) {  // a name on the hub
      HONE_TRY(check_spelling(key, value, folder, reader.place(key)));
      continue;
    }
    return Error(err::kPipelineFile, fmt::format("there is no '{}' here{}", value,
                                                 beside ? ", but beside the pipeline's file" : ""))
        .at(reader.place(key))
        .todo(beside ? fmt::format("type the command there: cd {}", folder)
                     : "correct it: paths are those of the folder where hone is started");
  }
  return Ok{};
}

std::string pipeline_name(const Recipe& r) {
  std::string name;
  for (const char c :
       r.model_display_name.empty() ? last_part(r.model_checkpoint) : r.model_display_name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (good || (!name.empty() && name.back() != '-')) name += good ? c : '-';
  }
  name.resize(std::min<size_t>(name.size(), 40));
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "model" : name;
}

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

bool has(const Words& words, const std::string& flag) {
  return std::find(words.begin(), words.end(), flag) != words.end();
}

// The parts of the steps.
struct RecipeParts {
  Recipe recipe;
  RecipeTask task;
  RecipeFlags flags;
  std::string name;  // of the pipeline, the model and the endpoint
  RecipePolicy policy;
};

// Whether an evaluated row has the columns of a row of the file, by the flags of rows.
bool keeps_rows_apart(const RecipeTask& task, const Words& rows) {
  if (task.apart.empty()) return true;
  const auto flag = std::find(rows.begin(), rows.end(), "--" + task.apart);
  return flag != rows.end() && (flag + 1 == rows.end() || *(flag + 1) != "false");
}

// Compares models if the policy names no metric.
std::string usual_metric(const RecipeParts& parts) {
  const Recipe& r = parts.recipe;
  if (!parts.task.metric_of_rows || is_url(r.dataset) || !has_content(r.dataset))
    return parts.task.metric;
  Words flags = {"--model_name_or_path", r.model_checkpoint, "--dataset_name", r.dataset};
  if (!r.dataset_subset.empty()) append(flags, {"--dataset_config_name", r.dataset_subset});
  append(flags, parts.flags.rows);
  append(flags, parts.flags.reading);
  const std::string metric = parts.task.metric_of_rows(flags);
  return metric.empty() ? parts.task.metric : metric;
}

// The policy, or that of the task; what its evaluation cannot give is refused here.
Status read_policy(const ConfigTree& tree, RecipeParts& parts, Words& notes) {
  OrderedJson& policy = parts.recipe.policy;
  const RecipeTask& task = parts.task;
  if (policy.is_null()) policy = OrderedJson::object();
  const bool has_policy = !policy.empty();
  if (!policy.contains("metric")) policy["metric"] = usual_metric(parts);
  if (!has_policy)
    notes.push_back(
        fmt::format("{:<11} {} must be better than the champion's; a block \"policy\" sets "
                    "another metric, a floor and more",
                    "policy", policy["metric"].get<std::string>()));
  parts.policy = HONE_TRY(task.policy(dump_json(policy), tree.place("/policy")));
  const std::string& metric = parts.policy.metric;
  if (std::find(task.metrics.begin(), task.metrics.end(), metric) == task.metrics.end()) {
    const std::string near = nearest_name(metric, task.metrics);
    return Error(err::kPipelineFile,
                 fmt::format("the evaluation of {} has no metric '{}'", parts.recipe.task, metric))
        .at(tree.place("/policy/metric"))
        .todo((near.empty() ? std::string() : fmt::format("did you mean {}? ", near)) +
              "the metrics are " + join(task.metrics, ", "));
  }
  for (const std::string& column : parts.policy.slices)
    if (std::find(parts.flags.slices.begin(), parts.flags.slices.end(), column) ==
        parts.flags.slices.end())
      parts.flags.slices.push_back(column);
  if (parts.flags.slices.empty() || keeps_rows_apart(task, parts.flags.rows)) return Ok{};
  return Error(err::kPipelineFile,
               fmt::format("a row of task {} is not a row of the file, which has "
                           "the columns of slices",
                           parts.recipe.task))
      .at(tree.place("/policy/slices"))
      .todo(
          fmt::format("set {} to true in 'preprocess', so that it is one, or leave the slices out",
                      task.apart));
}

// The columns of summarization, and the words that T5 was trained to see before a text.
Status add_columns(const RecipeReader& reader, RecipeParts& parts, Words& notes) {
  const Recipe& r = parts.recipe;
  if (!parts.task.reading.contains("summary_column")) {
    for (const char* key : {"document_column", "summary_column"})
      if (reader.given(key))
        return Error(err::kPipelineFile, fmt::format("'{}' means nothing for {}", key, r.task))
            .at(reader.place(key))
            .todo("leave it out" +
                  (parts.task.columns.empty() ? "" : ": rows have " + parts.task.columns));
    return Ok{};
  }
  Words& reading = parts.flags.reading;
  if (!r.document_column.empty()) append(reading, {"--text_column", r.document_column});
  if (!r.summary_column.empty()) append(reading, {"--summary_column", r.summary_column});
  if (!has(parts.flags.rows, "--source_prefix") && is_t5(r.model_checkpoint)) {
    append(parts.flags.rows, {"--source_prefix", "summarize: "});
    notes.push_back(fmt::format("{:<11} 'summarize: ' is put before each text: {} is a T5",
                                "prefix", r.model_checkpoint));
  }
  return Ok{};
}

std::vector<PipelineColumn> columns_of(const RecipeReader& reader, const ConfigTree& tree,
                                       const RecipeParts& parts) {
  std::vector<PipelineColumn> columns;
  for (const auto& [key, column] : {std::pair("document_column", parts.recipe.document_column),
                                    {"summary_column", parts.recipe.summary_column}})
    if (reader.given(key)) columns.push_back({column, reader.place(key)});
  for (const auto& [column, where] : parts.flags.columns) columns.push_back({column, where});
  const Words& of_policy = parts.policy.slices;
  for (const std::string& column : parts.flags.slices) {
    const bool in_policy = std::find(of_policy.begin(), of_policy.end(), column) != of_policy.end();
    columns.push_back(
        {column, in_policy ? tree.place("/policy/slices") : parts.flags.places.at("slice_columns"),
         true});
  }
  return columns;
}

PipelineStep download_step(const RecipeParts& parts) {
  const Recipe& r = parts.recipe;
  PipelineStep step{
      .name = "download", .command = {"hone", "pull"}, .retries = 3, .machine = host_machine(r)};
  for (const auto& [name, place] :
       {std::pair("model", r.model_checkpoint), std::pair("dataset", r.dataset)}) {
    if (std::string_view(name) == "dataset" && !parts.task.prepares) continue;  // read in place
    const bool known = has_content(place);
    if (known) step.inputs.emplace_back(name, place);
    step.command.push_back(known ? fmt::format("${{inputs.{}}}", name) : place);
  }
  if (!r.dataset_subset.empty() && parts.task.prepares)
    append(step.command, {"--dataset_config_name", r.dataset_subset});
  // A document may be a list of sentences, a summary a list of references.
  if (!r.document_column.empty()) append(step.command, {"--text_columns", r.document_column});
  if (!r.summary_column.empty()) append(step.command, {"--first_text_columns", r.summary_column});
  append(step.command, {"--to", "${out}"});
  return step;
}

// The flags of hone train, which hone check takes as well.
Words training_flags(const RecipeParts& parts) {
  const Recipe& r = parts.recipe;
  Words words;
  const auto unless_given = [&](const Words& flag) {
    if (!has(parts.flags.train, flag[0])) append(words, flag);
  };
  unless_given({"--do_eval"});
  unless_given({"--per_device_train_batch_size", std::to_string(r.batch_size)});
  unless_given({"--num_train_epochs", double_text(r.epochs)});
  unless_given({"--save_total_limit", "1"});
  if (parts.task.generates) unless_given({"--predict_with_generate"});
  append(words, parts.flags.rows);
  append(words, parts.flags.train);
  append(words, parts.flags.generate);
  return words;
}

void append_slices(Words& words, const RecipeParts& parts) {
  if (parts.flags.slices.empty()) return;
  words.push_back("--slice_columns");
  append(words, parts.flags.slices);
}

// A command of hone on what the step download brought.
Words on_download(const std::string& command, const RecipeParts& parts) {
  return {"hone",
          command,
          "--task",
          parts.recipe.task,
          "--model_name_or_path",
          "${steps.download}/model"};
}

// The data set that a step reads as it is: what the step download brought, or the place itself.
void add_dataset(PipelineStep& step, const RecipeParts& parts) {
  const Recipe& r = parts.recipe;
  if (parts.task.prepares)
    return append(step.command, {"--dataset_name", "${steps.download}/data"});
  const bool known = has_content(r.dataset);
  if (known) step.inputs.emplace_back("dataset", r.dataset);
  append(step.command, {"--dataset_name", known ? "${inputs.dataset}" : r.dataset});
  if (!r.dataset_subset.empty()) append(step.command, {"--dataset_config_name", r.dataset_subset});
  append(step.command, parts.flags.reading);
}

// The rows of a step that learns or evaluates: those of the step preprocess, if there is one.
void add_rows(PipelineStep& step, const RecipeParts& parts, const char* flag) {
  if (parts.task.prepares) return append(step.command, {flag, "${steps.preprocess}"});
  add_dataset(step, parts);
}

PipelineStep check_step(const RecipeParts& parts) {
  PipelineStep step{.name = "check",
                    .command = on_download("check", parts),
                    .retries = 2,
                    .machine = training_machine(parts.recipe)};
  step.machine.node_count = 1;
  add_dataset(step, parts);
  append(step.command, training_flags(parts));
  if (parts.task.prepares) append(step.command, parts.flags.reading);
  append_slices(step.command, parts);
  append(step.command,
         {"--policy_metric", parts.policy.metric, "--json", "--output_dir", "${out}"});
  return step;
}

PipelineStep preprocess_step(const RecipeParts& parts) {
  PipelineStep step{.name = "preprocess",
                    .command = on_download("prepare", parts),
                    .retries = 2,
                    .continues = true,
                    .machine = host_machine(parts.recipe)};
  step.after = {"check"};
  add_dataset(step, parts);
  append(step.command, parts.flags.rows);
  append(step.command, parts.flags.reading);
  append(step.command, parts.flags.preprocess);
  append_slices(step.command, parts);
  if (parts.task.caches_shards) append(step.command, {"--shard_cache", "${cache}/shards"});
  append(step.command, {"--output_dir", "${out}"});
  return step;
}

PipelineStep train_step(const RecipeParts& parts) {
  PipelineStep step{.name = "train",
                    .command = launch_words(parts.recipe),
                    .retries = 3,
                    .continues = true,
                    .machine = training_machine(parts.recipe)};
  step.command.emplace_back(step.command.empty() ? "hone" : "--");
  append(step.command,
         {"train", "--task", parts.recipe.task, "--model_name_or_path", "${steps.download}/model"});
  add_rows(step, parts, "--train_file");
  step.command.push_back("--do_train");
  if (!parts.task.prepares) step.after = {"check"};
  append(step.command, training_flags(parts));
  append(step.command, {"--run_name", parts.name, "--output_dir", "${out}"});
  return step;
}

PipelineStep evaluate_step(const RecipeParts& parts) {
  PipelineStep step{.name = "evaluate",
                    .command = {"hone", "eval", "--task", parts.recipe.task, "--model_name_or_path",
                                "${steps.train}"},
                    .retries = 1,
                    .machine = training_machine(parts.recipe)};
  add_rows(step, parts, "--validation_file");
  if (parts.task.generates) append(step.command, {"--predict_with_generate"});
  append(step.command, parts.flags.rows);
  append(step.command, parts.flags.generate);
  append(step.command, parts.flags.evaluate);
  append_slices(step.command, parts);
  append(step.command, {"--json", "--save_examples", "--output_dir", "${out}"});
  return step;
}

constexpr const char* kVersion = "${steps.register.version}";

PipelineStep register_step(const RecipeParts& parts) {
  return {.name = "register",
          .command = {"hone", "models", "register", "--name", parts.name, "--model",
                      "${steps.train}", "--evaluation", "${steps.evaluate}", "--json"},
          .retries = 2,
          .reuse = false,
          .machine = host_machine(parts.recipe)};
}

PipelineStep decide_step(const RecipeParts& parts) {
  return {.name = "should-deploy",
          .command = {"hone", "models", "decide", "--name", parts.name, "--version", kVersion,
                      "--policy", dump_json(parts.recipe.policy), "--output",
                      "${out}/decision.json", "--json"},
          .retries = 1,
          .reuse = false,
          .machine = host_machine(parts.recipe)};
}

PipelineStep deploy_step(const RecipeParts& parts) {
  PipelineStep step{.name = "deploy",
                    .command = {"hone", "deploy", "--name", parts.name, "--version", kVersion,
                                "--endpoint_name", parts.name},
                    .when = "${steps.should-deploy.verdict} == promote",
                    .retries = 1,
                    .reuse = false,
                    .machine = serving_machine(parts.recipe)};
  append(step.command, {"--json"});
  return step;
}

// The step is left out for tasks whose rows are not prepared, and so are its flags.
Status check_preprocess(const RecipeParts& parts, const ConfigTree& tree) {
  if (parts.task.prepares || parts.flags.preprocess.empty()) return Ok{};
  return Error(err::kPipelineFile,
               fmt::format("the rows of task {} are not prepared", parts.recipe.task))
      .at(tree.place("/preprocess"))
      .todo("move the flags of rows to 'train', and leave the others out");
}

}  // namespace

Result<Pipeline> recipe_pipeline(const ConfigTree& tree, const FindRecipeTask& find_task) {
  RecipeReader reader(tree);
  RecipeParts parts;
  parts.recipe = HONE_TRY(reader.read());
  HONE_TRY(check_paths(reader, parts.recipe, tree.name));
  Result<RecipeTask> task = find_task(parts.recipe.task);
  if (!task.ok()) return std::move(task.error().at(reader.place("task")));
  parts.task = std::move(*task);
  parts.flags = HONE_TRY(reader.flags(parts.task));
  parts.name = pipeline_name(parts.recipe);

  Pipeline p;
  p.name = parts.name;
  p.root = parts.recipe.pipeline_root;
  const std::string& dataset = parts.recipe.dataset;
  if (!dataset.empty() && !is_url(dataset) && !has_content(dataset))
    p.says.push_back(
        fmt::format("{:<11} '{}' is not here, so it is a data set of the hub", "dataset", dataset));
  HONE_TRY(add_columns(reader, parts, p.says));
  for (std::string& note : machine_notes(parts.recipe)) p.says.push_back(std::move(note));
  p.plan = plan_command(parts.recipe, parts.flags.rows, p.says);
  HONE_TRY(read_policy(tree, parts, p.says));
  p.metric = parts.policy.metric;
  p.dataset = parts.recipe.dataset;
  p.dataset_place = reader.place("dataset");
  p.dataset_subset = parts.recipe.dataset_subset;
  p.columns = columns_of(reader, tree, parts);
  p.flag_places = parts.flags.places;
  HONE_TRY(check_preprocess(parts, tree));
  p.steps = {download_step(parts), check_step(parts),    preprocess_step(parts),
             train_step(parts),    evaluate_step(parts), register_step(parts),
             decide_step(parts),   deploy_step(parts)};
  if (!parts.task.prepares)
    std::erase_if(p.steps, [](const PipelineStep& step) { return step.name == "preprocess"; });
  if (!parts.task.is_served) {
    p.steps.pop_back();
    p.says.push_back(
        fmt::format("{:<11} left out: hone serve has no answers for the task {}; the run ends with "
                    "the decision",
                    "deploy", parts.recipe.task));
  }
  return p;
}

}  // namespace hone

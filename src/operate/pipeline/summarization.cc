#include "operate/pipeline/summarization.h"

#include <map>
#include <set>

#include "base/core/text.h"
#include "base/settings/value.h"
#include "base/store/store.h"
#include "operate/pipeline/errors.h"

namespace hone {
namespace {

struct Summarization {
  std::string dataset, dataset_subset, document_column, summary_column;
  std::string cluster_prefix, zone, machine_type, gpu_type, model_checkpoint;
  int64_t node_count = 1, gpu_count = 0, batch_size = 8;
  double epochs = 3;
  std::string model_display_name, deploy_region, deploy_machine_type, deploy_gpu_type;
  int64_t deploy_gpu_count = 0;
  std::string task = "summarization", pipeline_root;
  OrderedJson preprocess, train, generate, evaluate, policy;  // objects, or null
};

struct FlatKey {
  const char* name;
  const char* block;  // of the nested shape, and the name there; null: the top
  const char* inside;
};
constexpr FlatKey kKeys[] = {
    {"dataset", nullptr, nullptr},
    {"dataset_subset", nullptr, nullptr},
    {"document_column", nullptr, nullptr},
    {"summary_column", nullptr, nullptr},
    {"cluster_prefix", "cluster_config", "name_prefix"},
    {"zone", "cluster_config", "zone"},
    {"node_count", "cluster_config", "node_count"},
    {"machine_type", "cluster_config", "machine_type"},
    {"gpu_type", "cluster_config", "gpu_type"},
    {"gpu_count", "cluster_config", "gpu_count"},
    {"model_checkpoint", "train_config", "model_checkpoint"},
    {"batch_size", "train_config", "batch_size"},
    {"epochs", "train_config", "epochs"},
    {"model_display_name", nullptr, nullptr},
    {"deploy_region", "deploy_config", "region"},
    {"deploy_machine_type", "deploy_config", "machine_type"},
    {"deploy_gpu_type", "deploy_config", "gpu_type"},
    {"deploy_gpu_count", "deploy_config", "gpu_count"},
    {"task", nullptr, nullptr},
    {"pipeline_root", nullptr, nullptr},
};
constexpr const char* kFlagBlocks[] = {"preprocess", "train", "generate", "evaluate", "policy"};

// Flags that decide what a row is: preparing, training and evaluation must agree on them.
const std::set<std::string> kOfRows = {"source_prefix",
                                       "max_source_length",
                                       "max_target_length",
                                       "val_max_target_length",
                                       "source_lang",
                                       "target_lang",
                                       "lang",
                                       "block_size",
                                       "packing",
                                       "max_seq_length",
                                       "task_name"};
// Flags of how the data are read, which is done once.
const std::set<std::string> kOfReading = {"validation_split_percentage", "text_column",
                                          "summary_column", "data_format", "encoding"};
// Flags that the pipeline gives itself.
const std::set<std::string> kOwn = {"task",
                                    "model_name_or_path",
                                    "output_dir",
                                    "train_file",
                                    "validation_file",
                                    "dataset_name",
                                    "dataset_config_name",
                                    "do_train",
                                    "json",
                                    "resume_from_checkpoint",
                                    "test_file",
                                    "config",
                                    "overwrite_output_dir"};

class SummarizationReader {
 public:
  explicit SummarizationReader(const ConfigTree& tree) : tree_(tree) {}

  Result<Summarization> read() {
    for (const auto& [key, value] : tree_.value.items())
      HONE_TRY(top(key, value, "/" + pointer_part(key)));
    for (const char* needed : {"dataset", "model_checkpoint"})
      if (!given_.contains(needed))
        return Error(err::kPipelineFile, fmt::format("'{}' is missing", needed))
            .at(tree_.name)
            .todo("give it, or 'steps' for a pipeline of other steps");
    HONE_TRY(bounds());
    return s_;
  }

  // "--flag value ..." of a block, without the flags that `skip` has.
  Result<std::vector<std::string>> flags(const std::string& block, const OrderedJson& object,
                                         const std::function<bool(const std::string&)>& take) {
    std::vector<std::string> words;
    for (const auto& [key, value] : object.items()) {
      const std::string place = tree_.place("/" + block + "/" + pointer_part(key));
      std::string name = key;
      std::replace(name.begin(), name.end(), '-', '_');
      if (kOwn.contains(name))
        return Error(err::kPipelineKey, fmt::format("the pipeline sets '{}' itself", key))
            .at(place)
            .todo("remove it");
      if (name == "token" || name.ends_with("auth_token") || name.ends_with("api_key"))
        return Error(err::kPipelineKey, fmt::format("'{}' is a secret", key))
            .at(place)
            .todo("set it in the environment: HF_TOKEN for the hub");
      const auto same =
          std::map<std::string, std::string>{{"num_train_epochs", "epochs"},
                                             {"per_device_train_batch_size", "batch_size"},
                                             {"text_column", "document_column"},
                                             {"summary_column", "summary_column"}};
      if (const auto other = same.find(name); other != same.end() && given_.contains(other->second))
        return Error(err::kPipelineKey, fmt::format("'{}' says what '{}' says", key, other->second))
            .at(place)
            .todo("keep one of the two");
      if (value.is_null() || !take(name)) continue;
      words.push_back("--" + name);
      if (value.is_array()) {
        for (const OrderedJson& v : value)
          words.push_back(v.is_string() ? v.get<std::string>() : dump_json(v));
      } else {
        words.push_back(value.is_string() ? value.get<std::string>() : dump_json(value));
      }
    }
    return words;
  }
  bool given(const std::string& key) const { return given_.contains(key); }

 private:
  Status top(const std::string& key, const OrderedJson& value, const std::string& pointer) {
    for (const char* block : kFlagBlocks)
      if (key == block) {
        if (!value.is_object())
          return Error(err::kPipelineFile, fmt::format("'{}' is not an object", key))
              .at(tree_.place(pointer));
        *blocks().at(key) = value;
        return Ok{};
      }
    std::map<std::string, std::string> inside;  // name there -> flat name
    std::vector<std::string> names(std::begin(kFlagBlocks), std::end(kFlagBlocks));
    for (const FlatKey& k : kKeys) {
      names.push_back(k.name);
      if (k.block == nullptr) continue;
      if (key == k.block) inside[k.inside] = k.name;
      if (std::find(names.begin(), names.end(), k.block) == names.end()) names.push_back(k.block);
    }
    if (inside.empty()) {
      if (!fields().contains(key)) return unknown_key(key, names, tree_.place(pointer));
      return set(key, value, pointer);
    }
    if (!value.is_object())
      return Error(err::kPipelineFile, fmt::format("'{}' is not an object", key))
          .at(tree_.place(pointer));
    std::vector<std::string> members;
    for (const auto& [name, flat] : inside) members.push_back(name);
    for (const auto& [member, v] : value.items()) {
      const std::string below = pointer + "/" + pointer_part(member);
      const auto known = inside.find(member);
      if (known == inside.end()) return unknown_key(member, members, tree_.place(below));
      HONE_TRY(set(known->second, v, below));
    }
    return Ok{};
  }

  Status set(const std::string& flat, const OrderedJson& value, const std::string& pointer) {
    if (const auto [at, fresh] = given_.emplace(flat, tree_.place(pointer)); !fresh)
      return Error(err::kPipelineKey, fmt::format("'{}' is given twice", flat))
          .at(at->second)
          .at(tree_.place(pointer))
          .todo("keep one of the two");
    const Field field = fields().at(flat);
    const bool is_text = std::holds_alternative<std::string*>(field);
    if (value.is_structured() || value.is_null() || value.is_boolean() ||
        (is_text && !value.is_string() && !value.is_number()) ||
        !assign(field, value.is_string() ? Json(value.get<std::string>()) : Json(dump_json(value))))
      return Error(err::kPipelineFile,
                   fmt::format("{} is {}, not {}", flat, dump_json(value), expected(field)))
          .at(tree_.place(pointer));
    return Ok{};
  }

  Status bounds() {
    for (const auto& [name, value, least, most] :
         {std::tuple("node_count", s_.node_count, int64_t{1}, int64_t{100000}),
          {"gpu_count", s_.gpu_count, int64_t{0}, int64_t{1024}},
          {"batch_size", s_.batch_size, int64_t{1}, int64_t{1} << 20},
          {"deploy_gpu_count", s_.deploy_gpu_count, int64_t{0}, int64_t{1024}}})
      if (value < least || value > most)
        return Error(err::kPipelineFile, fmt::format("{} is {}", name, value))
            .at(given_.at(name))
            .todo(fmt::format("write a number from {} to {}", least, most));
    if (!(s_.epochs > 0 && s_.epochs <= 1e6))
      return Error(err::kPipelineFile, fmt::format("epochs is {}", s_.epochs))
          .at(given_.at("epochs"))
          .todo("write a number above 0");
    return Ok{};
  }

  std::map<std::string, OrderedJson*> blocks() {
    return {{"preprocess", &s_.preprocess},
            {"train", &s_.train},
            {"generate", &s_.generate},
            {"evaluate", &s_.evaluate},
            {"policy", &s_.policy}};
  }
  std::map<std::string, Field> fields() {
    return {{"dataset", &s_.dataset},
            {"dataset_subset", &s_.dataset_subset},
            {"document_column", &s_.document_column},
            {"summary_column", &s_.summary_column},
            {"cluster_prefix", &s_.cluster_prefix},
            {"zone", &s_.zone},
            {"node_count", &s_.node_count},
            {"machine_type", &s_.machine_type},
            {"gpu_type", &s_.gpu_type},
            {"gpu_count", &s_.gpu_count},
            {"model_checkpoint", &s_.model_checkpoint},
            {"batch_size", &s_.batch_size},
            {"epochs", &s_.epochs},
            {"model_display_name", &s_.model_display_name},
            {"deploy_region", &s_.deploy_region},
            {"deploy_machine_type", &s_.deploy_machine_type},
            {"deploy_gpu_type", &s_.deploy_gpu_type},
            {"deploy_gpu_count", &s_.deploy_gpu_count},
            {"task", &s_.task},
            {"pipeline_root", &s_.pipeline_root}};
  }

  const ConfigTree& tree_;
  Summarization s_;
  std::map<std::string, std::string> given_;  // flat name -> place
};

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
  return info.ok() ? info->exists : place.find("://") != std::string::npos;
}

const char* usual_metric(const std::string& task) {
  if (task == "summarization") return "rougeLsum";
  if (task == "translation") return "bleu";
  if (task == "classification") return "accuracy";
  return task == "ner" ? "f1" : "loss";
}

std::string pipeline_name(const Summarization& s) {
  std::string name;
  for (const char c :
       s.model_display_name.empty() ? last_part(s.model_checkpoint) : s.model_display_name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (good || (!name.empty() && name.back() != '-')) name += good ? c : '-';
  }
  name.resize(std::min<size_t>(name.size(), 40));
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "model" : name;
}

std::string machines_text(int64_t nodes, const std::string& type, int64_t gpus,
                          const std::string& gpu) {
  std::string text = type.empty() ? "a machine" : type;
  if (nodes > 1) text = fmt::format("{} machines {}", nodes, type);
  if (gpus > 0) text += fmt::format(" with {} {}{}", gpus, gpu, nodes > 1 ? " each" : "");
  return text;
}

void say_what_is_instead(const Summarization& s, Pipeline& p) {
  if (!s.machine_type.empty() || s.gpu_count > 0 || s.node_count > 1) {
    std::string where = s.zone.empty() ? "" : " in " + s.zone;
    if (!s.cluster_prefix.empty()) where += fmt::format(" (named {}-...)", s.cluster_prefix);
    p.says.push_back(
        fmt::format("{:<11} asks for {}{}: this machine runs the steps instead", "cluster",
                    machines_text(s.node_count, s.machine_type, s.gpu_count, s.gpu_type), where));
  }
  const int64_t devices = s.node_count * std::max<int64_t>(1, s.gpu_count);
  if (devices > 1)
    p.says.push_back(
        fmt::format("{:<11} {} rows a step here, {} there ({} devices): \"train\": "
                    "{{\"gradient_accumulation_steps\": {}}} gives the same steps",
                    "batch", s.batch_size, s.batch_size * devices, devices, devices));
  if (!s.deploy_machine_type.empty() || s.deploy_gpu_count > 0)
    p.says.push_back(
        fmt::format("{:<11} asks for {}{}: the endpoint is on this machine instead", "deploy",
                    machines_text(1, s.deploy_machine_type, s.deploy_gpu_count, s.deploy_gpu_type),
                    s.deploy_region.empty() ? "" : " in " + s.deploy_region));
}

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
}

}  // namespace

std::string planned_device(const std::string& gpu_type) {
  std::string name = to_lower(gpu_type);
  std::replace(name.begin(), name.end(), '_', '-');
  static const std::map<std::string, std::string> known = {{"nvidia-tesla-a100", "A100-40GB"},
                                                           {"nvidia-a100-80gb", "A100-80GB"},
                                                           {"nvidia-h100-80gb", "H100"},
                                                           {"nvidia-h100-mega-80gb", "H100"},
                                                           {"nvidia-h200-141gb", "H200"},
                                                           {"nvidia-b200", "B200"},
                                                           {"nvidia-tesla-v100", "V100-16GB"},
                                                           {"nvidia-tesla-t4", "T4"},
                                                           {"nvidia-l4", "L4"}};
  const auto at = known.find(name);
  return at == known.end() ? "" : at->second;
}

Result<Pipeline> summarization_pipeline(const ConfigTree& tree) {
  SummarizationReader reader(tree);
  const Summarization s = HONE_TRY(reader.read());
  Pipeline p;
  p.name = pipeline_name(s);
  p.root = s.pipeline_root;
  const auto of_rows = [](const std::string& name) { return kOfRows.contains(name); };
  std::vector<std::string> rows = HONE_TRY(reader.flags("train", s.train, of_rows));
  const auto of_reading = [](const std::string& name) { return kOfReading.contains(name); };
  std::vector<std::string> reading = HONE_TRY(reader.flags("train", s.train, of_reading));
  const auto of_training = [](const std::string& n) {
    return !kOfRows.contains(n) && !kOfReading.contains(n);
  };
  std::vector<std::string> training = HONE_TRY(reader.flags("train", s.train, of_training));
  const auto any = [](const std::string&) { return true; };
  const std::vector<std::string> generate = HONE_TRY(reader.flags("generate", s.generate, any));
  const auto has = [](const std::vector<std::string>& words, const std::string& flag) {
    return std::find(words.begin(), words.end(), flag) != words.end();
  };
  const bool pairs = s.task == "summarization" || s.task == "translation";
  if (s.task == "summarization") {
    if (!s.document_column.empty()) append(reading, {"--text_column", s.document_column});
    if (!s.summary_column.empty()) append(reading, {"--summary_column", s.summary_column});
    if (!has(rows, "--source_prefix") && is_t5(s.model_checkpoint)) {
      append(rows, {"--source_prefix", "summarize: "});
      p.says.push_back(fmt::format("{:<11} 'summarize: ' is put before each text: {} is a T5",
                                   "prefix", s.model_checkpoint));
    }
  } else if (reader.given("document_column") || reader.given("summary_column")) {
    return Error(err::kPipelineFile,
                 fmt::format("document_column and summary_column mean nothing for {}", s.task))
        .at(tree.name)
        .todo("name its columns under 'preprocess', with the flags of hone prepare");
  }
  say_what_is_instead(s, p);

  const std::string device = planned_device(s.gpu_type);
  const StepMachine host{.machine_type = {}, .gpu_type = {}, .zone = s.zone};
  const StepMachine cluster{.machine_type = s.machine_type,
                            .gpu_type = s.gpu_type,
                            .zone = s.zone,
                            .gpu_count = s.gpu_count,
                            .node_count = s.node_count};
  const StepMachine server{.machine_type = s.deploy_machine_type,
                           .gpu_type = s.deploy_gpu_type,
                           .zone = s.deploy_region,
                           .gpu_count = s.deploy_gpu_count};
  const std::string batch = std::to_string(s.batch_size);
  if (!device.empty()) {
    p.plan = {"hone",
              "plan",
              "--task",
              s.task,
              "--model_name_or_path",
              s.model_checkpoint,
              "--per_device_train_batch_size",
              batch,
              "--device",
              s.gpu_count > 1 ? fmt::format("{}x{}", s.gpu_count, device) : device};
    append(p.plan, rows);
  } else if (s.gpu_count > 0) {
    p.says.push_back(fmt::format("{:<11} hone plan does not know the GPU '{}': not planned", "plan",
                                 s.gpu_type));
  }

  PipelineStep download{
      .name = "download", .command = {"hone", "pull"}, .retries = 3, .machine = host};
  for (const auto& [name, place] :
       {std::pair("model", s.model_checkpoint), std::pair("dataset", s.dataset)}) {
    const bool known = has_content(place);
    if (known) download.inputs.emplace_back(name, place);
    download.command.push_back(known ? fmt::format("${{inputs.{}}}", name) : place);
  }
  if (!s.dataset_subset.empty())
    append(download.command, {"--dataset_config_name", s.dataset_subset});
  // A document may be a list of sentences, a summary a list of references.
  if (!s.document_column.empty()) append(download.command, {"--text_columns", s.document_column});
  if (!s.summary_column.empty())
    append(download.command, {"--first_text_columns", s.summary_column});
  append(download.command, {"--to", "${out}"});

  PipelineStep preprocess{
      .name = "preprocess",
      .command = {"hone", "prepare", "--task", s.task, "--model_name_or_path",
                  "${steps.download}/model", "--dataset_name", "${steps.download}/data"},
      .retries = 2,
      .continues = true,
      .machine = host};
  append(preprocess.command, rows);
  append(preprocess.command, reading);
  append(preprocess.command, HONE_TRY(reader.flags("preprocess", s.preprocess, any)));
  if (pairs) append(preprocess.command, {"--shard_cache", "${cache}/shards"});
  append(preprocess.command, {"--output_dir", "${out}"});

  PipelineStep train{
      .name = "train",
      .command = {"hone", "train", "--task", s.task, "--model_name_or_path",
                  "${steps.download}/model", "--train_file", "${steps.preprocess}", "--do_train"},
      .retries = 3,
      .continues = true,
      .machine = cluster};
  if (!has(training, "--do_eval")) append(train.command, {"--do_eval"});
  if (!has(training, "--per_device_train_batch_size"))
    append(train.command, {"--per_device_train_batch_size", batch});
  if (!has(training, "--num_train_epochs"))
    append(train.command, {"--num_train_epochs", double_text(s.epochs)});
  if (!has(training, "--save_total_limit")) append(train.command, {"--save_total_limit", "1"});
  if (pairs && !has(training, "--predict_with_generate"))
    append(train.command, {"--predict_with_generate"});
  append(train.command, rows);
  append(train.command, training);
  append(train.command, generate);
  append(train.command, {"--run_name", p.name, "--output_dir", "${out}"});

  PipelineStep evaluate{.name = "evaluate",
                        .command = {"hone", "eval", "--task", s.task, "--model_name_or_path",
                                    "${steps.train}", "--validation_file", "${steps.preprocess}"},
                        .retries = 1,
                        .machine = cluster};
  if (pairs) append(evaluate.command, {"--predict_with_generate"});
  append(evaluate.command, rows);
  append(evaluate.command, generate);
  append(evaluate.command, HONE_TRY(reader.flags("evaluate", s.evaluate, any)));
  append(evaluate.command, {"--json", "--save_examples", "--output_dir", "${out}"});

  const std::string version = "${steps.register.version}";
  PipelineStep enter{.name = "register",
                     .command = {"hone", "models", "register", "--name", p.name, "--model",
                                 "${steps.train}", "--evaluation", "${steps.evaluate}", "--json"},
                     .retries = 2,
                     .reuse = false,
                     .machine = host};
  PipelineStep decide{
      .name = "should-deploy",
      .command = {"hone", "models", "decide", "--name", p.name, "--version", version},
      .retries = 1,
      .reuse = false,
      .machine = host};
  OrderedJson policy = s.policy;
  if (policy.is_null()) {
    policy = {{"metric", usual_metric(s.task)}};
    p.says.push_back(
        fmt::format("{:<11} {} must be better than that of the deployed version; "
                    "\"policy\" asks for more",
                    "policy", usual_metric(s.task)));
  }
  append(decide.command, {"--policy", dump_json(policy)});
  append(decide.command, {"--output", "${out}/decision.json", "--json"});
  PipelineStep deploy{.name = "deploy",
                      .command = {"hone", "deploy", "--name", p.name, "--version", version,
                                  "--endpoint_name", p.name},
                      .when = "${steps.should-deploy.verdict} == promote",
                      .retries = 1,
                      .reuse = false,
                      .machine = server};
  // The server puts the prefix before each text, as training did.
  if (const auto at = std::find(rows.begin(), rows.end(), "--source_prefix"); at != rows.end())
    append(deploy.command, {"--serve_flags", "prefix=" + *(at + 1)});
  append(deploy.command, {"--json"});
  p.steps = {download, preprocess, train, evaluate, enter, decide, deploy};
  return p;
}

}  // namespace hone

#include "operate/registry/mlflow_registry.h"

#include <algorithm>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/url.h"
#include "base/store/http.h"
#include "base/store/mapped_file.h"
#include "base/store/store.h"
#include "operate/registry/errors.h"
#include "operate/registry/model_hash.h"
#include "operate/registry/registry_json.h"

namespace hone {
namespace {

constexpr const char *kExperiment = "hone", *kHashTag = "hone.hash", *kVersionTag = "hone.version",
                     *kRunIdTag = "hone.run_id", *kHoneRunTag = "hone.run";
constexpr size_t kMostInBatch = 100;

OrderedJson tag_list(const MlflowMarks& tags) {
  OrderedJson list = OrderedJson::array();
  for (const auto& [key, value] : tags) list.push_back({{"key", key}, {"value", value}});
  return list;
}

// All pages of a search.
template <class Item>
Result<std::vector<Item>> search_all(MlflowClient& client, const std::string& path,
                                     std::vector<Item> (*items)(const Json&)) {
  std::vector<Item> all;
  std::string token;
  do {
    const Json answer = HONE_TRY(client.call(
        "GET", token.empty() ? path : fmt::format("{}&page_token={}", path, url_encoded(token)),
        nullptr));
    std::vector<Item> page = items(answer);
    all.insert(all.end(), std::make_move_iterator(page.begin()),
               std::make_move_iterator(page.end()));
    const std::string next = text_at(answer, "next_page_token");
    token = next == token ? "" : next;
  } while (!token.empty());
  return all;
}

std::string name_filter(const std::string& name) {
  return "filter=" + url_encoded(fmt::format("name='{}'", name));  // no quote is in a name
}

Result<std::vector<MlflowVersion>> versions_there(MlflowClient& client, const std::string& name) {
  return search_all(client, "model-versions/search?max_results=1000&" + name_filter(name),
                    mlflow_versions);
}

// The run of a version in MLflow, with its parameters and metrics; created if there is none.
Result<MlflowRun> send_run(Registry& registry, MlflowClient& client, const ModelVersion& v) {
  const std::string experiment = HONE_TRY(client.experiment(kExperiment));
  const std::string id = v.run_id.empty() ? v.hash : v.run_id;
  if (MlflowRun there = HONE_TRY(client.find(experiment, kRunIdTag, id)); !there.id.empty())
    return there;
  RegisteredRun r;
  if (!v.run_id.empty()) r = HONE_TRY(registry.run(v.run_id));
  OrderedJson told = run_json(r);
  for (const char* key : {"params", "metrics", "name"}) told.erase(key);
  const double begun =
      r.started.empty() ? system_clock().wall_seconds() : static_cast<double>(parse_utc(r.started));
  const MlflowRun run =
      HONE_TRY(client.create(experiment, r.name.empty() ? v.reference() : r.name, begun,
                             {{kRunIdTag, id}, {kHoneRunTag, dump_json(told)}}));
  OrderedJson params = OrderedJson::array(), metrics = OrderedJson::array();
  const auto now_ms = static_cast<int64_t>(system_clock().wall_seconds() * 1000);
  for (const auto& [key, value] : v.metrics.items())
    if (value.is_number())
      metrics.push_back(
          {{"key", mlflow_name(key)}, {"value", value}, {"timestamp", now_ms}, {"step", 0}});
  HONE_TRY(client.log_batch(run.id, {{"metrics", metrics}}));
  const auto send_params = [&]() -> Status {
    OrderedJson batch = std::move(params);
    params = OrderedJson::array();
    return batch.empty() ? Status(Ok{}) : client.log_batch(run.id, {{"params", std::move(batch)}});
  };
  for (const auto& [key, value] : r.params.items()) {
    params.push_back({{"key", mlflow_name(key)}, {"value", dump_json(value)}});
    if (params.size() == kMostInBatch) HONE_TRY(send_params());
  }
  HONE_TRY(send_params());
  const double ended = r.ended.empty() ? begun : static_cast<double>(parse_utc(r.ended));
  HONE_TRY(client.update(run.id, "FINISHED", ended));
  return run;
}

Status send_version(Registry& registry, MlflowClient& client, const ModelVersion& v,
                    std::string& number) {
  const MlflowRun run = HONE_TRY(send_run(registry, client, v));
  std::string source = v.source;
  if (!is_url(source)) {
    const MlflowRun folder{run.id, run.artifact_uri + "/model", {}};
    for (const std::string& name : HONE_TRY(model_files(v.source))) {
      const auto file = HONE_TRY(MappedFile::open(v.source + "/" + name));
      HONE_TRY(client.upload(folder, name, file->bytes()));
      HONE_TRY(file->check_unchanged());
    }
    source = folder.artifact_uri;
  }
  OrderedJson told = version_json(v);
  for (const char* key : {"name", "version", "uri", "aliases"}) told.erase(key);
  const Json made = HONE_TRY(
      client.call("POST", "model-versions/create",
                  {{"name", v.model},
                   {"source", source},
                   {"run_id", run.id},
                   {"tags", tag_list({{kHashTag, v.hash}, {kVersionTag, dump_json(told)}})}}));
  const auto version = made.is_object() ? made.find("model_version") : made.end();
  number = version != made.end() ? text_at(*version, "version") : "";
  return Ok{};
}

Status send_model(Registry& registry, MlflowClient& client, const RegisteredModel& m,
                  ExchangedModels& done) {
  if (!HONE_TRY(client.look_up("registered-models/get?name=" + url_encoded(m.name)))) {
    MlflowMarks tags;
    for (const auto& [key, value] : m.labels) tags.emplace_back(key, value);
    HONE_TRY(
        client.call("POST", "registered-models/create",
                    {{"name", m.name}, {"description", m.description}, {"tags", tag_list(tags)}}));
    ++done.models;
  }
  std::map<std::string, std::string> numbers;  // by hash
  for (const MlflowVersion& v : HONE_TRY(versions_there(client, m.name)))
    if (const auto hash = v.tags.find(kHashTag); hash != v.tags.end())
      numbers[hash->second] = v.number;
  std::map<int64_t, std::string> there;
  for (const ModelVersion& v : HONE_TRY(registry.versions(m.name))) {
    std::string& number = numbers[v.hash];
    if (number.empty()) {
      HONE_TRY(send_version(registry, client, v, number));
      ++done.versions;
    } else {
      ++done.there_already;
    }
    there[v.number] = number;
  }
  for (const auto& [alias, number] : m.aliases)
    HONE_TRY(client.call("POST", "registered-models/alias",
                         {{"name", m.name}, {"alias", alias}, {"version", there[number]}}));
  return Ok{};
}

// A version of MLflow with what its tags and its run say.
Result<int64_t> take_version(Registry& registry, MlflowClient& client, const MlflowModel& m,
                             const MlflowVersion& from, ExchangedModels& done) {
  ModelVersion v;
  v.model = m.name;
  v.source = from.source;
  v.hash = fmt::format("mlflow:{}/{}", m.name, from.number);
  RegisteredRun run;
  if (!from.run_id.empty())
    if (const auto told = HONE_TRY(client.look_up("runs/get?run_id=" + url_encoded(from.run_id))))
      run = mlflow_run(*told);
  v.run_id = run.id;
  v.metrics = run.metrics;
  for (const auto& [key, value] : from.tags)
    if (!key.starts_with("hone.") && !key.starts_with("mlflow.")) v.labels[key] = value;
  if (const auto tag = from.tags.find(kVersionTag); tag != from.tags.end())
    if (const auto told = parse_ordered_json(tag->second, kVersionTag);
        told.ok() && told->is_object()) {
      v.source = text_at(*told, "source");
      v.hash = text_at(*told, "hash");
      v.run_id = text_at(*told, "run");
      v.task = text_at(*told, "task");
      v.parent = text_at(*told, "parent");
      v.data_hash = text_at(*told, "data_hash");
      v.evaluation = text_at(*told, "evaluation");
      if (const OrderedJson& files = value_at(*told, "files"); files.is_array()) v.files = files;
      if (const auto metrics = told->find("metrics");
          metrics != told->end() && metrics->is_object())
        v.metrics = *metrics;
      if (const auto labels = told->find("labels"); labels != told->end() && labels->is_object())
        for (const auto& [key, value] : labels->items())
          if (value.is_string()) v.labels[key] = value.get<std::string>();
    }
  if (v.run_id.empty()) run.id.clear();
  const auto before = registry.versions(m.name);
  const ModelVersion added = HONE_TRY(registry.add_version(v, run));
  const bool is_new = !before.ok() || static_cast<int64_t>(before->size()) < added.number;
  ++(is_new ? done.versions : done.there_already);
  return added.number;
}

}  // namespace

Result<ExchangedModels> export_to_mlflow(Registry& registry, MlflowClient& client,
                                         const std::string& name) {
  ExchangedModels done;
  std::vector<RegisteredModel> models;
  if (name.empty())
    models = HONE_TRY(registry.models());
  else
    models.push_back(HONE_TRY(registry.model(name)));
  for (const RegisteredModel& m : models) HONE_TRY(send_model(registry, client, m, done));
  return done;
}

Result<ExchangedModels> import_from_mlflow(Registry& registry, MlflowClient& client,
                                           const std::string& name) {
  ExchangedModels done;
  const std::string filter = name.empty() ? "" : "&" + name_filter(name);
  const auto models = HONE_TRY(
      search_all(client, "registered-models/search?max_results=100" + filter, mlflow_models));
  if (models.empty() && !name.empty())
    return Error(err::kNotRegistered, fmt::format("MLflow has no model '{}'", name))
        .todo("leave the name out to import all of its models");
  for (const MlflowModel& m : models) {
    const bool known = registry.model(m.name).ok();
    std::map<std::string, int64_t> numbers;
    for (const MlflowVersion& v : HONE_TRY(versions_there(client, m.name)))
      numbers[v.number] = HONE_TRY(take_version(registry, client, m, v, done));
    if (numbers.empty()) continue;
    done.models += known ? 0 : 1;
    if (!known) HONE_TRY(registry.describe(m.name, m.description, m.tags));
    for (const auto& [alias, number] : m.aliases)
      if (const auto mine = numbers.find(number); mine != numbers.end())
        HONE_TRY(registry.set_alias(m.name, alias, mine->second, "import from MLflow"));
  }
  return done;
}

}  // namespace hone

#include "operate/registry/register_model.h"

#include <filesystem>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/text.h"
#include "base/core/url.h"
#include "base/store/hash.h"
#include "base/store/store.h"
#include "operate/monitor/origin.h"
#include "operate/monitor/run_list.h"
#include "operate/registry/errors.h"
#include "operate/registry/evaluation.h"
#include "operate/registry/model_hash.h"
#include "operate/registry/pinned_files.h"

namespace hone {
namespace {

constexpr const char *kResultsFile = "all_results.json", *kLogFile = "hone_log.jsonl",
                     *kRunFile = "hone_run.json";

std::string whole_path(const std::string& path) {
  if (path.empty() || is_url(path)) return without_end_slash(path);
  return without_end_slash(std::filesystem::absolute(path).lexically_normal().string());
}

std::string published_path(const ModelToRegister& given, const std::string& path) {
  const std::string whole = whole_path(path);
  return given.published ? given.published(whole) : whole;
}

// Every text that is a published path becomes its URL; other texts stay as they are.
OrderedJson with_published(const ModelToRegister& given, OrderedJson value) {
  if (!given.published) return value;
  if (value.is_structured())
    for (OrderedJson& member : value) member = with_published(given, std::move(member));
  else if (value.is_string())
    value = given.published(value.get<std::string>());
  return value;
}

Result<OrderedJson> read_object(const std::string& file) {
  Result<OrderedJson> parsed = parse_ordered_json(HONE_TRY(file_store().read(file)), file);
  if (parsed.ok() && parsed->is_object()) return parsed;
  Error error(err::kMetricsFile, fmt::format("'{}' is not a file of metrics", file));
  if (!parsed.ok()) error.at(parsed.error().what());
  return std::move(error).todo(
      "give a JSON file with one object, such as all_results.json of a run");
}

// Those of the evaluation take precedence over what the training said of the same metrics: they
// decide.
Result<OrderedJson> metrics_of(const ModelToRegister& given) {
  std::vector<std::string> files = given.metrics;
  if (files.empty())
    for (const std::string& folder : {given.folder, given.evaluation})
      if (const std::string own = without_end_slash(folder) + "/" + kResultsFile;
          !folder.empty() && HONE_TRY(file_store().exists(own)))
        files.push_back(own);
  OrderedJson all = OrderedJson::object();
  for (const std::string& file : files) all.update(HONE_TRY(read_object(file)));
  return all;
}

// Files and folders that these settings of a run in `folder` name; missing ones are left out.
OrderedJson hashed_data(const ModelToRegister& model, const OrderedJson& settings,
                        const std::string& folder, std::initializer_list<const char*> keys) {
  OrderedJson data = OrderedJson::array();
  for (const char* key : keys) {
    const OrderedJson& setting = value_at(settings, key);
    for (const OrderedJson& name : setting.is_array() ? setting : OrderedJson::array({setting})) {
      if (!name.is_string() || name.get<std::string>().empty()) continue;
      const std::string given = name.get<std::string>();
      if (is_url(given)) continue;
      const std::string path = (std::filesystem::path(folder) / given).lexically_normal().string();
      if (!is_file(path) && !is_folder(path)) continue;
      const Result<std::string> hash = hash_data(without_end_slash(path));
      if (hash.ok())
        data.push_back(
            {{"file", published_path(model, path)}, {"name", data_name_of(path)}, {"hash", *hash}});
    }
  }
  return data;
}

// The record of the run, from its log and hone_run.json beside it.
Result<RegisteredRun> run_of(const ModelToRegister& given, const std::string& log) {
  const std::vector<RunRow> rows = runs_in_log(HONE_TRY(file_store().read(log)), log);
  RegisteredRun run;
  if (rows.empty()) return run;
  const RunRow& row = rows.back();
  run.id = text_at(row.run, "id");
  run.name = text_at(row.run, "name");
  run.task = text_at(row.run, "task");
  run.params = value_at(row.run, "settings").is_object() ? value_at(row.run, "settings")
                                                         : OrderedJson::object();
  run.metrics =
      value_at(row.end, "results").is_object() ? value_at(row.end, "results") : row.metrics;
  run.status = row.status(system_clock().wall_seconds());
  const OrderedJson& begun = value_at(row.run, "begun_s");
  if (begun.is_number()) run.started = format_utc(begun.get<double>(), 3);
  if (row.end.is_object()) run.ended = row.last_time;
  std::string folder = text_at(row.run, "folder");
  if (folder.empty()) folder = std::filesystem::current_path().string();
  const OrderedJson files = hashed_data(given, run.params, folder, {"dataset_name", "train_file"});
  std::vector<std::string> hashes;
  for (const OrderedJson& f : files) hashes.push_back(text_at(f, "hash"));
  run.data_hash = join(hashes, " ");
  std::string from = text_at(row.run, "model");
  if (const std::string there = folder + "/" + from; !from.empty() && is_folder(there))
    from = from.starts_with('/') ? from : there;
  if (is_folder(from))
    if (const auto hash = hash_model(from); hash.ok()) run.model_hash = *hash;
  run.params = with_published(given, std::move(run.params));
  run.record = {{"hone", given.hone_version},
                {"command", text_at(row.run, "command")},
                {"model", from.empty() || !is_folder(from) ? from : published_path(given, from)},
                {"model_name", model_name_of(from)},
                {"log", published_path(given, log)},
                {"folder", folder},
                {"machine", value_at(row.run, "machine")},
                {"data", files},
                {"evaluated", hashed_data(given, run.params, folder, {"validation_file"})}};
  const std::string state = given.folder + "/" + kRunFile;
  if (HONE_TRY(file_store().exists(state)))
    if (const auto told = parse_ordered_json(HONE_TRY(file_store().read(state)), state);
        told.ok()) {
      const OrderedJson& facts = value_at(*told, "run");
      for (const char* key : {"machine", "kernels"})
        run.record[std::string("numerics_") + key] = text_at(facts, key);
      if (const OrderedJson& continued = value_at(facts, "continued"); !continued.empty())
        run.record["continued"] = continued;
    }
  return run;
}

// "news:2" where the registry knows the model that the run began from, else its name.
Result<std::string> parent_of(Registry& registry, const RegisteredRun& run) {
  if (!run.model_hash.empty())
    for (const RegisteredModel& m : HONE_TRY(registry.models()))
      for (const ModelVersion& v : HONE_TRY(registry.versions(m.name)))
        if (v.hash == run.model_hash) return v.reference();
  const std::string name = text_at(run.record, "model_name");
  return name.empty() ? text_at(run.record, "model") : name;
}

}  // namespace

Result<ModelVersion> register_model(Registry& registry, const ModelToRegister& asked) {
  ModelToRegister given = asked;
  given.folder = without_end_slash(given.folder);
  if (!registry.model(given.name).ok()) HONE_TRY(check_registry_name("a model", given.name));
  ModelVersion v;
  v.model = given.name;
  v.source = published_path(given, given.folder);
  v.hash = HONE_TRY(hash_model(given.folder));
  const std::vector<std::string> files = HONE_TRY(model_files(given.folder));
  if (v.source != whole_path(given.folder))
    HONE_TRY(check_published(given.folder, v.source, files));
  v.files = HONE_TRY(pin_files(v.source, files));
  v.metrics = HONE_TRY(metrics_of(given));
  v.labels = given.labels;
  RegisteredRun run;
  const bool named = !given.run_log.empty();
  std::string log = named ? given.run_log : given.folder;
  if (!log.ends_with(".jsonl")) log += std::string("/") + kLogFile;
  if (named || HONE_TRY(file_store().exists(log))) run = HONE_TRY(run_of(given, log));
  v.run_id = run.id;
  v.task = run.task;
  v.data_hash = run.data_hash;
  v.parent = !given.parent.empty() ? given.parent : HONE_TRY(parent_of(registry, run));
  const std::string examples = given.evaluation.empty() ? given.folder : given.evaluation;
  if (HONE_TRY(file_store().exists(without_end_slash(examples) + "/" + kExamplesFile)))
    v.evaluation = published_path(given, examples);
  else if (!given.evaluation.empty())
    log_warning(
        "'{}' has no {}, which hone eval --save_examples writes: versions cannot be compared row "
        "by row",
        examples, kExamplesFile);
  std::vector<std::string> replaced;
  if (!given.metrics.empty() || !given.evaluation.empty()) replaced.emplace_back("metrics");
  if (!given.evaluation.empty() && !v.evaluation.empty()) replaced.emplace_back("evaluation");
  const ModelVersion added = HONE_TRY(registry.add_version(v, run, given.alias, replaced));
  if (!given.description.empty()) {
    const RegisteredModel model = HONE_TRY(registry.model(given.name));
    HONE_TRY(registry.describe(given.name, given.description, model.labels));
  }
  return added;
}

}  // namespace hone

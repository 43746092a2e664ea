#include "operate/registry/compare_versions.h"

#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/registry/decide.h"
#include "operate/registry/evaluation.h"
#include "operate/registry/registry_json.h"
#include "operate/registry/run_names.h"

namespace hone {
namespace {

OrderedJson value_of(const OrderedJson& object, const std::string& key) {
  const auto it = object.find(key);
  return it == object.end() ? OrderedJson() : *it;
}

// Keys of both, those of `a` first.
std::vector<std::string> keys_of_both(const OrderedJson& a, const OrderedJson& b) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : a.items()) keys.push_back(key);
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) keys.push_back(key);
  return keys;
}

void compare_metrics(VersionDifference& d) {
  for (const std::string& key : keys_of_both(d.a.metrics, d.b.metrics)) {
    const OrderedJson x = value_of(d.a.metrics, key), y = value_of(d.b.metrics, key);
    const bool both = x.is_number() && y.is_number();
    const double difference = both ? y.get<double>() - x.get<double>() : 0;
    d.metrics[key] = OrderedJson::array({x, y, both ? OrderedJson(difference) : OrderedJson()});
  }
}

Status compare_settings(Registry& registry, VersionDifference& d) {
  if (d.a.run_id.empty() || d.b.run_id.empty()) return Ok{};
  const RegisteredRun x = HONE_TRY(registry.run(d.a.run_id)),
                      y = HONE_TRY(registry.run(d.b.run_id));
  for (const std::string& key : keys_of_both(x.params, y.params)) {
    const OrderedJson a = value_of(x.params, key), b = value_of(y.params, key);
    if (a != b) d.settings[key] = OrderedJson::array({a, b});
  }
  return Ok{};
}

// This member of each file that a run evaluated; the names in its settings where the files were not there.
std::vector<std::string> of_evaluated_files(const RegisteredRun& run, const char* member) {
  const bool own = evaluates_own_files(run.params);
  std::vector<std::string> all;
  for (const OrderedJson& file : value_at(run.record, own ? "evaluated" : "data"))
    all.push_back(text_at(file, member));
  if (!all.empty()) return all;
  for (const char* key : {"dataset_name", own ? "validation_file" : "train_file"})
    for (std::string& name : texts_of_setting(run.params, key)) all.push_back(std::move(name));
  return all;
}

// "12 rows of a.csv"
std::string evaluated_text(const RegisteredRun& run, const OrderedJson& metrics) {
  const std::vector<std::string> names = of_evaluated_files(run, "name");
  const OrderedJson& samples = value_at(metrics, "eval_samples");
  return fmt::format("{} of {}", samples.is_number() ? dump_json(samples) + " rows" : "rows",
                     names.empty() ? "files without a record" : join(names, " "));
}

// Rows of evaluations that were kept say it surely, else the settings of the runs.
Status compare_evaluated(Registry& registry, VersionDifference& d) {
  if (!d.a.evaluation.empty() && !d.b.evaluation.empty()) {
    const auto x = read_evaluation(d.a.evaluation), y = read_evaluation(d.b.evaluation);
    if (x.ok() && y.ok()) {
      d.rows = differing_rows(*x, *y);
      return Ok{};
    }
  }
  if (d.a.run_id.empty() || d.b.run_id.empty()) return Ok{};
  const RegisteredRun x = HONE_TRY(registry.run(d.a.run_id)),
                      y = HONE_TRY(registry.run(d.b.run_id));
  const RowsAlike alike = rows_alike(evaluated_by(x, d.a.metrics), evaluated_by(y, d.b.metrics));
  if (alike == RowsAlike::kSame) return Ok{};
  d.rows = fmt::format("{} and {}", evaluated_text(x, d.a.metrics), evaluated_text(y, d.b.metrics));
  d.rows_unknown = alike == RowsAlike::kUnknown;
  return Ok{};
}

}  // namespace

bool evaluates_own_files(const OrderedJson& settings) {
  return !value_at(settings, "validation_file").empty();
}

OrderedJson evaluated_by(const OrderedJson& settings, const OrderedJson& metrics,
                         OrderedJson files) {
  OrderedJson by = {{"samples", value_at(metrics, "eval_samples")},
                    {"most", value_at(settings, "max_eval_samples")},
                    {"files", std::move(files)}};
  if (!evaluates_own_files(settings))
    by["share"] = value_at(settings, "validation_split_percentage");
  return by;
}

RowsAlike rows_alike(const OrderedJson& a, const OrderedJson& b) {
  if (a == b) return RowsAlike::kSame;
  const auto differ = [](const OrderedJson& x, const OrderedJson& y) {
    return x.is_number() && y.is_number() && x != y;
  };
  const bool sure = differ(a, b) || differ(value_at(a, "samples"), value_at(b, "samples")) ||
                    differ(value_at(a, "examples"), value_at(b, "examples"));
  return sure ? RowsAlike::kDifferent : RowsAlike::kUnknown;
}

OrderedJson evaluated_by(const RegisteredRun& run, const OrderedJson& metrics) {
  return evaluated_by(run.params, metrics, of_evaluated_files(run, "hash"));
}

OrderedJson evaluated_by(const ModelVersion& version, const RegisteredRun& run) {
  if (version.evaluation.empty()) return evaluated_by(run, version.metrics);
  const Result<std::string> text = file_store().read(version.evaluation + "/" + kEvaluationRunFile);
  if (!text.ok()) return evaluated_by(run, version.metrics);
  const Result<OrderedJson> told = parse_ordered_json(*text, kEvaluationRunFile);
  if (!told.ok()) return evaluated_by(run, version.metrics);
  return {{"data", value_at(*told, "data")}, {"examples", value_at(*told, "examples")}};
}

Result<VersionDifference> compare_versions(Registry& registry, const ModelVersion& a,
                                           const ModelVersion& b) {
  VersionDifference d;
  d.a = a;
  d.b = b;
  compare_metrics(d);
  HONE_TRY(compare_settings(registry, d));
  HONE_TRY(compare_evaluated(registry, d));
  return d;
}

OrderedJson VersionDifference::json() const {
  return {{"a", version_json(a)},
          {"b", version_json(b)},
          {"same_files", a.hash == b.hash},
          {"same_data", a.data_hash == b.data_hash && !a.data_hash.empty()},
          {"metrics", metrics},
          {"differing_rows", rows_unknown ? "" : rows},
          {"unknown_rows", rows_unknown ? rows : ""},
          {"settings", settings}};
}

}  // namespace hone

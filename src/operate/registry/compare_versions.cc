#include "operate/registry/compare_versions.h"

#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/registry/decide.h"
#include "operate/registry/evaluation.h"
#include "operate/registry/model_hash.h"
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

// The record of an evaluation; null if it cannot be read.
OrderedJson evaluation_record(const std::string& folder) {
  const Result<std::string> text = file_store().read(folder + "/" + kEvaluationRunFile);
  if (!text.ok()) return nullptr;
  Result<OrderedJson> told = parse_ordered_json(*text, kEvaluationRunFile);
  return told.ok() ? std::move(*told) : OrderedJson();
}

// "12 rows of a.csv"
std::string evaluated_text(const ModelVersion& version, const RegisteredRun& run) {
  RegisteredRun evaluation;
  if (!version.evaluation.empty())
    evaluation.params = value_at(evaluation_record(version.evaluation), "settings");
  const std::vector<std::string> names =
      of_evaluated_files(evaluation.params.empty() ? run : evaluation, "name");
  const OrderedJson& samples = value_at(version.metrics, "eval_samples");
  return fmt::format("{} of {}", samples.is_number() ? dump_json(samples) + " rows" : "rows",
                     names.empty() ? "files without a record" : join(names, " "));
}

Status compare_evaluated(Registry& registry, VersionDifference& d) {
  const RegisteredRun x = HONE_TRY(run_of_version(registry, d.a)),
                      y = HONE_TRY(run_of_version(registry, d.b));
  const RowsAlike alike = rows_alike(evaluated_by(d.a, x), evaluated_by(d.b, y));
  if (alike == RowsAlike::kSame) return Ok{};
  d.rows_unknown = alike == RowsAlike::kUnknown;
  if (!d.a.evaluation.empty() && !d.b.evaluation.empty()) {
    const auto saved = read_evaluation(d.a.evaluation), other = read_evaluation(d.b.evaluation);
    if (saved.ok() && other.ok()) d.rows = differing_rows(*saved, *other);
  }
  if (d.rows.empty())
    d.rows = fmt::format("{} and {}", evaluated_text(d.a, x), evaluated_text(d.b, y));
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
  const auto both = [&](const char* key) {
    return !text_at(a, key).empty() && !text_at(b, key).empty();
  };
  const auto equal = [&](const char* key) { return text_at(a, key) == text_at(b, key); };
  if (both("ids")) return equal("ids") ? RowsAlike::kSame : RowsAlike::kDifferent;
  if (a == b) return RowsAlike::kSame;
  const auto differ = [](const OrderedJson& x, const OrderedJson& y) {
    return x.is_number() && y.is_number() && x != y;
  };
  const bool sure = differ(a, b) || differ(value_at(a, "samples"), value_at(b, "samples")) ||
                    differ(value_at(a, "examples"), value_at(b, "examples"));
  if (sure) return RowsAlike::kDifferent;
  const bool same_number = value_at(a, "samples").is_number() && value_at(b, "samples").is_number();
  return both("data") && equal("data") && same_number ? RowsAlike::kSame : RowsAlike::kUnknown;
}

OrderedJson evaluated_by(const RegisteredRun& run, const OrderedJson& metrics) {
  OrderedJson by = evaluated_by(run.params, metrics, of_evaluated_files(run, "hash"));
  if (!evaluates_own_files(run.params)) return by;
  // The hash of the same files in the record of an evaluation.
  constexpr std::string_view kPrefix = "sha256:";
  std::vector<std::string> sums;
  for (const std::string& hash : of_evaluated_files(run, "hash"))
    if (hash.starts_with(kPrefix)) sums.push_back(hash.substr(kPrefix.size()));
  by["data"] = hash_of_sums(sums);
  return by;
}

OrderedJson evaluated_in(const std::string& folder, const OrderedJson& metrics) {
  const Result<std::string> ids = hash_of_row_ids(folder);
  if (!ids.ok()) return nullptr;
  OrderedJson by = {{"samples", value_at(metrics, "eval_samples")}, {"ids", *ids}};
  const OrderedJson told = evaluation_record(folder);
  for (const char* key : {"data", "examples"}) by[key] = value_at(told, key);
  return by;
}

OrderedJson evaluated_by(const ModelVersion& version, const RegisteredRun& run) {
  OrderedJson saved = version.evaluation.empty()
                          ? OrderedJson()
                          : evaluated_in(version.evaluation, version.metrics);
  return saved.is_null() ? evaluated_by(run, version.metrics) : saved;
}

Result<RegisteredRun> run_of_version(Registry& registry, const ModelVersion& v) {
  return v.run_id.empty() ? Result<RegisteredRun>(RegisteredRun()) : registry.run(v.run_id);
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

bool VersionDifference::is_of_same_rows(const std::string& metric) const {
  if (!metric.starts_with("train_")) return rows.empty();
  return a.task == b.task && !a.data_hash.empty() && a.data_hash == b.data_hash &&
         value_at(a.metrics, "train_samples") == value_at(b.metrics, "train_samples");
}

std::string VersionDifference::rows_note() const {
  if (rows.empty()) return "";
  return rows_unknown
             ? fmt::format("hone cannot tell whether the metrics are of the same rows ({})", rows)
             : fmt::format(
                   "the metrics are of different rows ({}): they say nothing of which is better",
                   rows);
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

// Compares two registered model versions: their files, data, metrics, evaluated rows and the settings of their runs.
// Checks whether two evaluations measured the same rows of data: only then can their metrics be compared.
#pragma once

#include <string>

#include "operate/registry/registry.h"

namespace hone {

struct VersionDifference {
  ModelVersion a, b;
  // Metric -> [value of a, value of b, value of b - value of a]; null for a missing value.
  OrderedJson metrics = OrderedJson::object();
  // Setting -> [value of a, value of b]; only settings that differ.
  OrderedJson settings = OrderedJson::object();
  // The rows on which a and b were evaluated: "12 rows of a.csv and 87 rows of b.csv". "": both on the same rows.
  std::string rows;
  bool rows_unknown = false;  // true: `rows` may name the same rows twice; hone cannot tell

  // Whether both values of a metric were measured on the same rows. For metrics of training ("train_..."): whether both
  // versions were trained on the same data.
  bool is_of_same_rows(const std::string& metric) const;
  // A sentence that warns not to compare the evaluations: "the metrics are of different rows (...) ..."; "": they can
  // be compared.
  std::string rows_note() const;
  OrderedJson json() const;
};

// Whether a run with these settings evaluates separate files (validation_file), not a part of its training files.
bool evaluates_own_files(const OrderedJson& settings);

// The functions evaluated_by() and evaluated_in() return a JSON object that identifies the rows of an evaluation, for
// rows_alike(). `metrics` are the metrics of the evaluation. Their "eval_samples" is the number of rows.

// Identifies the rows by `files` (names or hashes of the evaluated files) and by the settings that choose rows from
// these files.
OrderedJson evaluated_by(const OrderedJson& settings, const OrderedJson& metrics,
                         OrderedJson files);
enum class RowsAlike { kSame, kDifferent, kUnknown };
// Compares two results of evaluated_by() or evaluated_in(). If both have hashes of row ids, the hashes decide. Else the
// result is kDifferent for different numbers of rows, and kUnknown for different files with the same number of rows,
// because they may hold the same rows.
RowsAlike rows_alike(const OrderedJson& a, const OrderedJson& b);
// Identifies the rows that a registered run evaluated.
OrderedJson evaluated_by(const RegisteredRun& run, const OrderedJson& metrics);
// Identifies the rows whose scores are saved in a folder (evaluation.h); null if the folder has none.
OrderedJson evaluated_in(const std::string& folder, const OrderedJson& metrics);
// Identifies the rows on which a version was evaluated: by its saved rows if it has them, else by `run`, which made the
// version.
OrderedJson evaluated_by(const ModelVersion& version, const RegisteredRun& run);

// The run that made a version; an empty RegisteredRun if the version has none. Errors: those of the registry.
Result<RegisteredRun> run_of_version(Registry& registry, const ModelVersion& v);
// Errors: those of the registry.
Result<VersionDifference> compare_versions(Registry& registry, const ModelVersion& a,
                                           const ModelVersion& b);

}  // namespace hone

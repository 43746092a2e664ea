// Two versions of models side by side: files, data, metrics, evaluated rows and the settings of their runs.
#pragma once

#include <string>

#include "operate/registry/registry.h"

namespace hone {

struct VersionDifference {
  ModelVersion a, b;
  OrderedJson metrics = OrderedJson::object();   // [a's, b's, b's - a's]; null where one is missing
  OrderedJson settings = OrderedJson::object();  // [a's, b's] of those that differ
  // The rows that the metrics are of, unless they are the same: "12 rows of a.csv and 87 rows of b.csv".
  std::string rows;
  bool rows_unknown = false;  // whether `rows` may be the same rows after all

  // Whether both values of a metric are of the same rows; those of training are of its own.
  bool is_of_same_rows(const std::string& metric) const;
  // Tells why the evaluations are not compared: "the metrics are of different rows (...) ..."; "": they are.
  std::string rows_note() const;
  OrderedJson json() const;
};

// Whether a run with these settings evaluates files of its own, not a part of those of training.
bool evaluates_own_files(const OrderedJson& settings);
// The facts that decide the rows that a run evaluated: its files, by name or hash, and how many of their rows were taken.
OrderedJson evaluated_by(const OrderedJson& settings, const OrderedJson& metrics,
                         OrderedJson files);
enum class RowsAlike { kSame, kDifferent, kUnknown };
// Compares such facts. Ids of rows decide; without them, only numbers of rows tell surely that rows differ: other files
// may hold the same rows.
RowsAlike rows_alike(const OrderedJson& a, const OrderedJson& b);
// These facts of a registered run; of the rows that are saved in a folder, null: none are; and of a version: of its
// saved rows, if they are there.
OrderedJson evaluated_by(const RegisteredRun& run, const OrderedJson& metrics);
OrderedJson evaluated_in(const std::string& folder, const OrderedJson& metrics);
OrderedJson evaluated_by(const ModelVersion& version, const RegisteredRun& run);

// The run that made a version; an empty one if it has none. Errors: those of the registry.
Result<RegisteredRun> run_of_version(Registry& registry, const ModelVersion& v);
// Errors: those of the registry.
Result<VersionDifference> compare_versions(Registry& registry, const ModelVersion& a,
                                           const ModelVersion& b);

}  // namespace hone

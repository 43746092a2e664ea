#include "operate/registry/measured_rows.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/core/text.h"
#include "base/core/url.h"
#include "base/store/store.h"
#include "operate/monitor/origin.h"
#include "operate/registry/run_names.h"

namespace hone {
namespace {

// A file of a run by its whole path, in whatever folder this program runs; other names as they are.
std::string place_of_run(const OrderedJson& run, const std::string& name) {
  const std::string folder = text_at(run, "folder");
  if (name.starts_with('/') || is_url(name) || folder.empty()) return name;
  const std::string path =
      without_end_slash((std::filesystem::path(folder) / name).lexically_normal().string());
  return path_exists(path) ? path : name;
}

// Whether a file has other content than when the run began, as far as its time tells; false if it is gone.
bool changed_since(const OrderedJson& run, const std::string& path) {
  const OrderedJson& begun = value_at(run, "begun_s");
  struct stat facts {};
  return begun.is_number() && ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         static_cast<double>(facts.st_mtim.tv_sec) +
                 static_cast<double>(facts.st_mtim.tv_nsec) * 1e-9 >
             begun.get<double>();
}

}  // namespace

std::optional<double> value_in(const MeasuredRow& row, const std::string& name) {
  if (row.metric && row.metric->name == name) return row.metric->value;
  const OrderedJson& value = value_at(row.metrics, name.c_str());
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

RowsAlike measured_alike(const std::vector<MeasuredRow>& rows, const std::string& name) {
  std::vector<const OrderedJson*> known;
  RowsAlike all = RowsAlike::kSame;
  for (const MeasuredRow& row : rows) {
    if (name.starts_with("train_") || !value_in(row, name)) continue;
    bool is_new = true;
    for (const OrderedJson* other : known) {
      const RowsAlike alike = rows_alike(*other, row.evaluated);
      if (alike == RowsAlike::kDifferent) return alike;
      if (alike == RowsAlike::kUnknown) all = alike;
      is_new = is_new && alike != RowsAlike::kSame;
    }
    if (is_new) known.push_back(&row.evaluated);
  }
  return all;
}

std::string no_best_text(RowsAlike alike) {
  if (alike == RowsAlike::kSame) return "";
  return alike == RowsAlike::kDifferent
             ? "the runs were evaluated on different rows"
             : "hone cannot tell whether the runs were evaluated on the same rows";
}

OrderedJson evaluated_by(const RunRow& row) {
  const OrderedJson& run = row.evaluator.is_object() ? row.evaluator : row.run;
  const OrderedJson& settings = value_at(run, "settings");
  OrderedJson names = OrderedJson::array();
  for (const char* key :
       {"dataset_name", evaluates_own_files(settings) ? "validation_file" : "train_file"})
    for (const std::string& file : texts_of_setting(settings, key)) {
      const std::string path = place_of_run(run, file);
      names.push_back(place_of_run(run, data_name_of(path)));
      if (changed_since(run, path))  // this run's own version of it
        names.push_back(text_at(run, "id"));
    }
  return evaluated_by(settings, results_of(row), std::move(names));
}

}  // namespace hone

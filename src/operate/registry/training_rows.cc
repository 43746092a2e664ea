#include "operate/registry/training_rows.h"

#include "base/core/text.h"
#include "base/core/url.h"
#include "operate/monitor/origin.h"
#include "operate/registry/compare_versions.h"

namespace hone {
namespace {

// The training files of a run by content. Token shards are also made from files of validation, which do not count.
struct TrainingFiles {
  std::vector<std::string> hashes;
  bool shared = false;  // shards that keep a share of these files for validation
};
TrainingFiles training_files(const RegisteredRun& run) {
  TrainingFiles files;
  for (const OrderedJson& file : value_at(run.record, "data")) {
    const std::string path = text_at(file, "file"),
                      sources = is_url(path) ? "" : source_hashes(path);
    if (sources.empty()) files.hashes.push_back(text_at(file, "hash"));
    bool validates = sources.empty();
    for (const std::string& line : split(sources, '\n')) {
      validates = validates || line.starts_with("validation");
      if (line.starts_with("train\t")) files.hashes.push_back(line);
    }
    files.shared = files.shared || !validates;
  }
  return files;
}

// Whether a run trained on the rows that the other did, given the same files.
bool same_part(const RegisteredRun& x, const RegisteredRun& y) {
  bool same = evaluates_own_files(x.params) == evaluates_own_files(y.params);
  for (const char* key :
       {"validation_split_percentage", "train_val_split", "max_train_samples", "seed", "data_seed"})
    same = same && value_at(x.params, key) == value_at(y.params, key);
  return same;
}

}  // namespace

Result<bool> may_know_more(Registry& registry, const ModelVersion& a, const ModelVersion& b) {
  const RegisteredRun x = HONE_TRY(run_of_version(registry, a)),
                      y = HONE_TRY(run_of_version(registry, b));
  const TrainingFiles mine = training_files(x), other = training_files(y);
  if (mine.hashes.empty() || mine.hashes != other.hashes || other.shared) return true;
  const OrderedJson& most = value_at(y.params, "max_train_samples");
  const bool all = evaluates_own_files(y.params) && (!most.is_number() || most < 0);
  if (!all && !same_part(x, y)) return true;
  // Other initial models may have been trained too.
  return a.parent != b.parent && b.parent != a.reference() &&
         a.parent.find(':') != std::string::npos && resolve_model(registry, a.parent).ok();
}

}  // namespace hone

#include "learn/datasets/sources.h"

#include <filesystem>

#include "base/core/text.h"
#include "learn/datasets/fetch.h"

namespace hone {

Result<DataSources> find_sources(const SourceRequest& request) {
  DataSources out;
  const DatasetRequest& wanted = request.dataset;
  if (wanted.name.empty()) {
    out.train = HONE_TRY(fetch_data_files(request.train_file, wanted.hub));
    out.validation = HONE_TRY(fetch_data_files(request.validation_file, wanted.hub));
    out.has_validation = !out.validation.empty();
    return out;
  }
  if (!request.train_file.empty() || !request.validation_file.empty()) {
    out.notes.push_back(fmt::format(
        "`train_file` and `validation_file` are not read: `dataset_name` {} takes precedence",
        wanted.name));
  }
  Dataset dataset = HONE_TRY(Dataset::open(wanted));
  out.has_validation = dataset.has("validation");
  out.labels = dataset.labels();
  const std::string config = dataset.config().empty() ? "" : fmt::format(" ({})", dataset.config());
  out.notes.insert(out.notes.end(), dataset.notes().begin(), dataset.notes().end());
  out.notes.push_back(
      fmt::format("{}{}: splits {}", dataset.name(), config, join(dataset.splits(), ", ")));
  if (request.want_train || (request.want_validation && !out.has_validation))
    out.train = HONE_TRY(dataset.files("train"));
  if (request.want_validation && out.has_validation)
    out.validation = HONE_TRY(dataset.files("validation"));
  return out;
}

}  // namespace hone

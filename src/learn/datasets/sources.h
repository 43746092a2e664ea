// Turns a task's data flags into files of this machine: --dataset_name and its like, or
// --train_file and --validation_file.
#pragma once

#include "learn/datasets/dataset.h"

namespace hone {

struct DataSources {
  std::vector<std::string> train, validation;  // paths and globs; empty when not wanted
  // There is a validation split, wanted or not: none is cut off from the training rows.
  bool has_validation = false;
  LabelNames labels;               // as far as README.md says them
  std::vector<std::string> notes;  // for the summary of the run, a sentence each
};

struct SourceRequest {
  DatasetRequest dataset;  // name "": the files
  std::vector<std::string> train_file, validation_file;
  bool want_train = true, want_validation = false;
};

// A data set takes precedence over files, as in run_clm. When validation is wanted and there is none, the
// training rows are given to be split. Errors: those of dataset.h and fetch.h; H2802 when a split
// that is wanted is not there.
Result<DataSources> find_sources(const SourceRequest& request);

}  // namespace hone

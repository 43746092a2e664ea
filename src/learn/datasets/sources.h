// Turns the data settings of a task into local files: --dataset_name, --dataset_config_name and --dataset_revision, or
// --train_file and --validation_file.
#pragma once

#include "learn/datasets/dataset.h"

namespace hone {

struct DataSources {
  std::vector<std::string> train, validation;  // paths and globs; empty if the split is not wanted
  // true: a validation split exists, even if it is not wanted; no training rows are then kept for validation.
  bool has_validation = false;
  LabelNames labels;               // class names by column, from the README.md of the data set
  std::vector<std::string> notes;  // sentences for the summary of the run
};

struct SourceRequest {
  DatasetRequest dataset;  // if its name is "", train_file and validation_file are used
  std::vector<std::string> train_file, validation_file;
  bool want_train = true, want_validation = false;
};

// Finds and downloads the files of the wanted splits. A data set takes precedence over files, as in run_clm of
// Transformers. If validation is wanted but a data set has no validation split, `train` has its training files, so the
// caller can keep some of their rows for validation. Errors: those of dataset.h and fetch.h; H2802 the data set has no
// training split although it is needed.
Result<DataSources> find_sources(const SourceRequest& request);

}  // namespace hone

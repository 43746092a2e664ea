// Turns the data flags of tasks with two columns or more into local files for each split.
#pragma once

#include "learn/data/rows/glue_tasks.h"
#include "learn/datasets/sources.h"

namespace hone {

struct LabelSources {
  std::vector<std::string> train, validation, mismatched, test, test_mismatched;
  std::string dev_ids;  // MRPC: the rows of `train` that belong to `validation` (mrpc_dev_ids.h)
  LabelNames labels;    // from the data set's README.md
  std::vector<std::string> notes;  // for the summary of the run, one sentence each
};

struct LabelSourceRequest {
  DatasetRequest dataset;  // name "": the files or the folder; without these the task's own
  bool glue = true;        // GLUE's tasks are allowed
  const GlueTask* task = nullptr;
  std::string data_dir;
  std::vector<std::string> train_file, validation_file, mismatched_file, test_file;
  bool want_train = true, want_validation = false, want_test = false;
};

// Finds the files. A data set takes precedence over files, and files over the folder. The
// validation rows of a data set are `validation`, or else `validation_matched` with
// `validation_mismatched` beside it; the same holds for rows to predict. A folder of prepared
// shards gives every split that it holds. Errors: those of dataset.h and fetch.h, H2101 if nothing
// is named or data_dir lacks a file.
Result<LabelSources> find_label_sources(const LabelSourceRequest& request);

}  // namespace hone

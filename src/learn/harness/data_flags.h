// What the data flags of tasks with two columns or more mean: files of this machine for each split.
#pragma once

#include "learn/data/rows/glue_tasks.h"
#include "learn/datasets/sources.h"

namespace hone {

struct LabelSources {
  std::vector<std::string> train, validation, mismatched, test, test_mismatched;
  std::string dev_ids;  // of mrpc: which rows of `train`, which `validation` is too (dev_ids.h)
  LabelNames labels;    // as far as a data set's README.md says them
  std::vector<std::string> notes;  // for the first screen, a sentence each
};

struct LabelSourceRequest {
  DatasetRequest dataset;  // name "": the files or the folder; with none of these the task's own
  bool glue = true;        // GLUE's tasks may be named
  const GlueTask* task = nullptr;
  std::string data_dir;
  std::vector<std::string> train_file, validation_file, mismatched_file, test_file;
  bool want_train = true, want_validation = false, want_test = false;
};

// A data set takes precedence over files, and files over the folder. A data set's validation rows are
// `validation`, or else `validation_matched` with `validation_mismatched` beside it; its rows to
// predict likewise. A folder of prepared shards stands for every split that it holds. Errors: those
// of dataset.h and fetch.h, H2101 when nothing is named or data_dir lacks a file.
Result<LabelSources> find_label_sources(const LabelSourceRequest& request);

}  // namespace hone

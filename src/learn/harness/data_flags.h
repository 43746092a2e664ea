// Finds the local files of each split from the data flags, for tasks whose rows have two columns or more.
#pragma once

#include "learn/data/rows/glue_tasks.h"
#include "learn/datasets/sources.h"

namespace hone {

struct LabelSources {
  // Files of each split; empty: the split is not wanted or does not exist. `mismatched` is the second validation set,
  // and `test_mismatched` the second test set, of data sets such as MNLI.
  std::vector<std::string> train, validation, mismatched, test, test_mismatched;
  // Only for MRPC: a file with the ids of the rows of `train` that belong to `validation` (mrpc_dev_ids.h); "": none.
  std::string dev_ids;
  LabelNames labels;               // names of the labels from the data set's README.md
  std::vector<std::string> notes;  // notes for the summary of the run, one sentence each
};

struct LabelSourceRequest {
  // The data set; its name "": no data set is named. See find_label_sources() for the order of the sources.
  DatasetRequest dataset;
  bool glue = true;                // whether error messages propose --task_name
  const GlueTask* task = nullptr;  // the GLUE task; null: none
  std::string data_dir;            // a folder of GLUE's download; "": none
  std::vector<std::string> train_file, validation_file, mismatched_file, test_file;
  bool want_train = true, want_validation = false, want_test = false;
};

// Finds the files. Uses the first of these sources that is named: the data set, the files, data_dir, the data set
// nyu-mll/glue with the GLUE task `task`. The validation rows of a data set are its split `validation`. If it has no
// such split, they are its split `validation_matched`, and LabelSources::mismatched is its split
// `validation_mismatched`. The rows to predict follow the same rule with the split `test`. If a file is a folder of
// prepared shards, the folder also gives the other wanted splits for which no file is named. Errors: those of dataset.h
// and fetch.h; H2101 no data are named for a wanted split, or data_dir lacks a file.
Result<LabelSources> find_label_sources(const LabelSourceRequest& request);

}  // namespace hone

// The steps of a shared preparation (shared_prepare.h). A step consists of items that are independent of each other and
// use the results of earlier steps:
//
//   keys      with deduplication; for each item of the data: computes the keys of its texts, which are hashes that
//             equal or similar texts share
//   pairs     with deduplication; for each part of the keys: finds texts that share a key
//   clusters  with MinHash; one item: links pairs to clusters and lists the texts to leave out
//   rows      for each item of the data: writes its shards. In a split to shuffle: writes its tokenized texts, divided
//             into parts by a random key (spilled_texts.h)
//   shuffled  for each part of a split to shuffle: writes its texts in the shuffled order as shards
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "learn/data/shards/shards.h"
#include "learn/data/shards/shared_work.h"
#include "learn/data/shards/work_plan.h"

namespace hone {

// The arguments of prepare_shared, and the items that the data is cut into.
struct SharedJob {
  const std::vector<TextPart>& parts;
  const PrepareOptions& options;
  const SharedWork& work;
  const std::vector<WorkItem>& items;

  // The folder of a step: D/work/<step>.
  std::string step_folder(const std::string& step) const;
  // The file in which an item of a step leaves data for later steps.
  std::string step_file(const std::string& step, int64_t item) const;
  // True if the rows of parts[part] are shuffled: work.shuffle_seed is set, and it is the training split.
  bool is_shuffled(size_t part) const;
  // The indices into `items` of the items of parts[part].
  std::vector<int64_t> items_of_part(size_t part) const;
};

struct SharedStep {
  std::string name;
  int64_t count = 0;  // number of items of the step
  // Works on one item and returns its result, the text of its .done file; none: SharedWork::stops returned true.
  std::function<Result<std::optional<std::string>>(int64_t item)> run;
};
// The steps of the job in order. The job and `tokenize` must outlive the steps.
std::vector<SharedStep> shared_steps(const SharedJob& job, const Tokenize& tokenize);

// A split that is joined from the results of its items. `left_out` is the number of rows that were left out as
// duplicates.
struct JoinedSplit {
  ShardSplit split;
  int64_t left_out = 0;
};
// Joins the results of the items of parts[part]. `result` returns the result of an item of a step. Errors: those of
// `result`; H2132 a result cannot be read.
Result<JoinedSplit> join_results(
    const SharedJob& job, size_t part,
    const std::function<Result<std::string>(const std::string& step, int64_t item)>& result);

}  // namespace hone

// The steps of a shared preparation (shared_prepare.h). Each is a number of items of work that depend
// on the results of the steps before:
//
//   keys      of each item, with deduplication: the keys of its texts
//   pairs     of each part of the keys: texts that share a key
//   clusters  with MinHash: linked pairs, and the texts to leave out
//   rows      of each item: its shards; in a shuffled split its texts as ids, spread over parts
//   shuffled  of each part of a shuffled split: its texts in their order, as shards
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "learn/data/shards/shards.h"
#include "learn/data/shards/shared_work.h"
#include "learn/data/shards/work_plan.h"

namespace hone {

struct SharedJob {
  const std::vector<TextPart>& parts;
  const PrepareOptions& options;
  const SharedWork& work;
  const std::vector<WorkItem>& items;

  std::string step_folder(const std::string& step) const;
  // The file of an item's result for other steps.
  std::string step_file(const std::string& step, int64_t item) const;
  bool is_shuffled(size_t part) const;
  std::vector<int64_t> items_of_part(size_t part) const;
};

struct SharedStep {
  std::string name;
  int64_t count = 0;
  // Works on one item and returns its result; none: the work was stopped.
  std::function<Result<std::optional<std::string>>(int64_t item)> run;
};
// In their order. The job must outlive the steps.
std::vector<SharedStep> shared_steps(const SharedJob& job, const Tokenize& tokenize);

// A split, joined from the results of all steps; `left_out`: its duplicates.
struct JoinedSplit {
  ShardSplit split;
  int64_t left_out = 0;
};
// `result` gives the result of an item of a step.
Result<JoinedSplit> join_results(
    const SharedJob& job, size_t part,
    const std::function<Result<std::string>(const std::string& step, int64_t item)>& result);

}  // namespace hone

// hone prepare by several processes, also on several hosts, into one folder or bucket.
//
//   D/hone_progress.json       the plan: settings, sources, items of work; written by the first
//   D/work/rows/000003.lease-001   of the process that works on item 3 (base/store/work_items.h)
//   D/work/rows/000003.done        its shards and counts; shared_steps.h lists the other steps
//   D/train/data-000003-00000.arrow
//   D/hone_shards.json         written when all items are done; then the plan and D/work are deleted
//
// Rows are grouped into blocks within an item (shuffled texts: within a part of their order), so the
// bytes depend on the files and the settings: not on the number of processes, nor on kills.
#pragma once

#include "learn/data/shards/shards.h"
#include "learn/data/shards/shared_work.h"

namespace hone {

// The record of the sources: without hashes, for which each file would be read whole before the start.
Result<OrderedJson> source_sizes(const std::vector<TextPart>& parts);

struct SharedState {
  bool finished = false;
  int64_t items = 0;  // of the data
  int64_t steps = 0;  // items of all steps
};
// Writes the plan into the folder unless it is there. Errors: as prepare_shards.
Result<SharedState> plan_shared(const std::vector<TextPart>& parts, const PrepareOptions& options,
                                const SharedWork& work);

// The number of items of all steps that are done; 0 if the folder is finished.
int64_t shared_done(const std::string& folder);

// Takes items until all are done, by this process or by others, and then finishes the folder.
// options.settings names the size of an item; options.progress is not called. The parts have no
// first_row and end_row. Errors: those of the data and of the store; as prepare_shards.
Result<Prepared> prepare_shared(const std::vector<TextPart>& parts, const PrepareOptions& options,
                                const SharedWork& work, const Tokenize& tokenize);

}  // namespace hone

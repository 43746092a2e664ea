// Runs `hone prepare` in several processes, on one or several hosts, which write into one folder or bucket D. The files
// are cut into items of work (work_plan.h), which the processes take one by one.
//
//   D/hone_progress.json            the plan: settings, sources, items of work; the first process writes it
//   D/work/rows/000003.lease-001    lease of the process that works on item 3 of step rows (base/store/work_items.h)
//   D/work/rows/000003.done         result of item 3: its shards and counts; shared_steps.h lists the other steps
//   D/train/data-000003-00000.arrow a shard of item 3
//   D/hone_shards.json              written when all items are done; then the plan and D/work are deleted
//
// A block of tokens never crosses the end of an item (shuffled texts: of a part of the shuffled order). So the bytes of
// the shards depend only on the files and the settings, not on the number of processes, nor on processes that were
// killed.
#pragma once

#include "learn/data/shards/shards.h"
#include "learn/data/shards/shared_work.h"

namespace hone {

// The records of the source files with names and sizes. They have no hashes, since every file would have to be read for
// them before the work starts. Errors: those of the store.
Result<OrderedJson> source_sizes(const std::vector<TextPart>& parts);

struct SharedState {
  bool finished = false;  // true: the shards of the folder are finished
  int64_t items = 0;      // items that the data is cut into
  int64_t steps = 0;      // items of all steps together: the total for shared_done()
};
// Writes the plan into the folder unless it exists. Errors: as prepare_shards.
Result<SharedState> plan_shared(const std::vector<TextPart>& parts, const PrepareOptions& options,
                                const SharedWork& work);

// The number of items of all steps that are done. 0 if the folder is finished, since D/work is then deleted.
int64_t shared_done(const std::string& folder);

// Works on items until all are done, by this process or by others, and then finishes the folder. options.settings must
// include the size of an item. Calls SharedWork::progress, not options.progress. The parts must use all rows: first_row
// and end_row have their default values. Errors: those of the data and of the store; those of prepare_shards.
Result<Prepared> prepare_shared(const std::vector<TextPart>& parts, const PrepareOptions& options,
                                const SharedWork& work, const Tokenize& tokenize);

}  // namespace hone

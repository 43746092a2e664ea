// The plan of a run on several equal devices, a rank each, with the layouts that were compared.
#pragma once

#include "engine/backends/ahead.h"
#include "learn/harness/budget/layouts.h"
#include "learn/harness/budget/memory_copies.h"
#include "learn/harness/budget/plan_report.h"

namespace hone {

struct RankOptions {
  std::string mesh;                   // "data=13,tensor=8"; "": any
  std::optional<int64_t> stage = {};  // of ZeRO; none: the fastest
  LinkSettings links = {};
  bool compile = false;  // by libtpu, for TPUs
};

struct RankReport : PlanSubject {
  Cluster cluster;
  std::optional<MachineSpeeds> speeds;  // that the device points into
  ArenaLimits limits;                   // of a rank
  int64_t runtime_bytes = 0;            // of a rank, beside its arena
  Links links;
  Layouts layouts;
  // States of a rank on a TPU, which stores them in tiles.
  struct Tiles {
    int64_t bytes = 0, tiled = 0;
    std::string worst;  // the state that wastes most: "wte.weight f32[50257,768]"; "": none
  };
  std::optional<Tiles> tiles;          // of TPUs
  std::optional<MemoryCopies> copies;  // with --memory_save_steps
  std::vector<AheadMemory> compiled;   // the programs of a rank, if asked for
  std::vector<std::string> warnings;

  bool fits() const { return layouts.best.has_value() && layouts.shown().time.fits(); }
  // The rows of a step of all ranks in the layout that is shown.
  int64_t step_rows() const {
    return data_ranks(cluster, layouts.shown().layout) * settings->per_device_train_batch_size *
           settings->gradient_accumulation_steps;
  }
  OrderedJson json() const;
  std::string text() const;
};

// Bytes of a rank's states, values and scratch by space and purpose; those of the device sum to its
// arena.
using BytesByPurpose = std::map<std::string, PerSpace<int64_t>>;
BytesByPurpose bytes_by_purpose(const RunPlan& plan);

// Errors: H0203 the mesh; H2432 --mics_shard_size; those of compile_ahead(), if asked for; those of the task, of its data
// and of its settings.
Result<RankReport> rank_report(const Task& task, Pretrained& model, const PlannedDevices& devices,
                               const RankOptions& options);

}  // namespace hone

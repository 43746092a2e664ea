// The report of `hone plan` for several equal devices. Each device is one rank of the run.
#pragma once

#include "engine/backends/ahead.h"
#include "learn/harness/budget/layouts.h"
#include "learn/harness/budget/memory_copies.h"
#include "learn/harness/budget/plan_report.h"

namespace hone {

struct RankOptions {
  std::string mesh;                   // "data=13,tensor=8"; "": compare all meshes
  std::optional<int64_t> stage = {};  // ZeRO stage, 0 to 3; nullopt: the fastest that fits
  LinkSettings links = {};
  bool compile = false;  // true: compile the programs with libtpu; only for TPUs
};

struct RankReport : PlanSubject {
  Cluster cluster;
  std::optional<MachineSpeeds> speeds;  // owns the speeds that cluster.device points into
  ArenaLimits limits;                   // for one rank
  int64_t runtime_bytes = 0;            // bytes of memory of a rank besides its arena
  Links links;
  Layouts layouts;
  // Bytes of a rank's states on a TPU, which stores arrays in tiles and pads them.
  struct Tiles {
    int64_t bytes = 0, tiled = 0;  // bytes without the padding, and with it
    std::string worst;  // the state with the most padding: "wte.weight f32[50257,768]"; "": none
  };
  std::optional<Tiles> tiles;          // set for TPUs
  std::optional<MemoryCopies> copies;  // set with --memory_save_steps
  std::vector<AheadMemory> compiled;   // the programs of a rank; empty unless RankOptions::compile
  std::vector<std::string> warnings;   // one sentence each

  bool fits() const { return layouts.best.has_value() && layouts.shown().time.fits(); }
  // Rows of an optimizer step, of all ranks together, in the layout Layouts::shown().
  int64_t step_rows() const {
    return data_ranks(cluster, layouts.shown().layout) * settings->per_device_train_batch_size *
           settings->gradient_accumulation_steps;
  }
  OrderedJson json() const;
  std::string text() const;
};

// Bytes of a rank's states, values and scratch memory, by purpose ("params", "gradients", "moments", ...) and space.
// The bytes of all purposes on the device add up to the device's arena.
using BytesByPurpose = std::map<std::string, PerSpace<int64_t>>;
BytesByPurpose bytes_by_purpose(const RunPlan& plan);

// Compares layouts and plans one rank. Errors: H0203 the mesh does not fit the devices; H2432 --mics_shard_size does
// not fit the ranks; those of compile_ahead(), with RankOptions::compile; those of the task, its data and its settings.
Result<RankReport> rank_report(const Task& task, Pretrained& model, const PlannedDevices& devices,
                               const RankOptions& options);

}  // namespace hone

#include "learn/harness/ranks.h"

#include <algorithm>

#include "base/core/text.h"
#include "engine/backends/null/null.h"
#include "engine/session/session.h"
#include "learn/data/rows/count_text.h"

namespace hone {
namespace {

int64_t whole_lines(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

// Bytes of states by role and home.
struct StateBytes {
  std::map<Role, PerSpace<int64_t>> of;
  explicit StateBytes(const RunPlan& plan) {
    for (const StateSlot& s : plan.states) of[s.role][s.home] += whole_lines(s.type.bytes());
  }
};

Result<RunPlan> planned(std::vector<Program> programs, const Backend& backend) {
  const NullBackend null(&backend);
  const Session session = HONE_TRY(Session::compile(std::move(programs), null));
  return session.plan();
}

// The weights that a rank updates: its rows of large ones.
std::vector<UpdateWeight> shards_of(std::vector<UpdateWeight> weights, int64_t ranks,
                                    int64_t least_elements) {
  for (UpdateWeight& w : weights) {
    if (w.type.count() < least_elements || w.type.shape.empty()) continue;
    int64_t& rows = w.type.shape[0];
    rows = (rows + ranks - 1) / ranks;
  }
  return weights;
}

}  // namespace

std::string RankLayout::text() const {
  std::string s = fmt::format("ZeRO stage {}", stage);
  if (others != Space::device)
    s += fmt::format(", all states on {}", name_of(others));
  else if (optimizer != Space::device)
    s += fmt::format(", optimizer states on {}", name_of(optimizer));
  if (gradient_checkpointing) s += ", gradient checkpointing";
  return s;
}

Result<RankPlan> plan_rank(const TaskModel& m, const Backend& backend, const RankLayout& layout,
                           int64_t rows, int64_t row_tokens, const DeviceSpec& device) {
  // Forward and backward: other ranks act as a place that weights come from and gradients go to.
  Placement how = Placement::of(m.settings());
  how.optimizer = "none";
  how.param = layout.stage >= 3 ? "cpu" : "none";
  how.gradient = layout.stage >= 2 ? "cpu" : "none";
  how.gradient_checkpointing |= layout.gradient_checkpointing;
  const Task task = placed(m.task, how);
  const TaskModel cut{task, m.config, m.form};
  const TaskSettings& s = *task.settings;
  std::vector<Program> programs;
  double seconds = 0, flops = 0;
  Speeds speeds = device;
  const auto n = static_cast<double>(layout.ranks);
  if (speeds.peer_bytes_per_second > 0 && layout.ranks > 1) {
    const double links = layout.others == Space::device ? speeds.peer_bytes_per_second
                                                        : n * speeds.host_bytes_per_second;
    speeds.host_bytes_per_second = std::min(speeds.peer_bytes_per_second, links) * n / (n - 1);
  }
  const double micro_batches = micro_batches_of(s, s.per_device_train_batch_size, rows);
  RunShapes shapes = shapes_without_data(cut, row_tokens, rows, false, true, s.do_eval);
  shapes.copies = false;  // the weights of a rank are planned in f32
  for (RunProgram& p : HONE_TRY(list_programs(cut, shapes))) {
    const bool trains = p.program.name.starts_with("train.");
    if (!trains && !p.program.name.starts_with("eval.")) continue;  // shards accumulate
    HONE_TRY(run_passes(p.program, p.passes, {}));
    if (trains) {
      seconds = micro_batches * run_seconds(p.program, speeds);
      flops = micro_batches * flops_of(p.program);
    }
    programs.push_back(std::move(p.program));
  }
  const RunPlan pass = HONE_TRY(planned(std::move(programs), backend));

  // The update of a rank's rows.
  const std::vector<UpdateWeight> weights =
      update_weights(m.config, s.optim_target_modules, weights_in_bf16(m.config, s));
  Program update = build_update(
      layout.stage >= 1 ? shards_of(weights, layout.ranks, s.offload_persistence_threshold)
                        : weights,
      HONE_TRY(update_options(s)));
  TrainPasses passes;
  passes.offload.moments = layout.optimizer;
  passes.offload.params = passes.offload.gradients = layout.others;
  passes.offload.least_elements = s.offload_persistence_threshold;
  HONE_TRY(run_passes(update, update_pipeline(passes), {}));
  seconds += run_seconds(update, device);
  std::vector<Program> updates;
  updates.push_back(std::move(update));
  const RunPlan own = HONE_TRY(planned(std::move(updates), backend));

  StateBytes whole(pass), shard(own);
  if (layout.stage >= 3)  // frozen weights are sharded too
    for (const StateSlot& slot : pass.states) {
      if (slot.role != Role::param ||
          std::any_of(own.states.begin(), own.states.end(),
                      [&](const StateSlot& o) { return o.tensor() == slot.tensor(); }))
        continue;
      const bool cut_up = slot.home != Space::device && !slot.type.shape.empty();
      const int64_t rows_of_all = cut_up ? std::max<int64_t>(slot.type.shape[0], 1) : 1;
      const int64_t held = cut_up ? (rows_of_all + layout.ranks - 1) / layout.ranks : 1;
      shard.of[Role::param][cut_up ? layout.others : Space::device] +=
          whole_lines(slot.type.bytes() / rows_of_all * held);
    }
  RankPlan plan;
  plan.layout = layout;
  plan.rows = rows;
  plan.flops = flops;
  for (const Space space : kSpaces) {
    const auto add = [&](const char* purpose, int64_t bytes) {
      plan.bytes[space] += bytes;
      if (space == Space::device && bytes > 0) plan.by_purpose[purpose] += bytes;
    };
    const bool here = space == Space::device;
    add("params", layout.stage >= 3 ? shard.of[Role::param][space]
                                    : (here ? whole.of[Role::param][space] : 0));
    add("gradients",
        layout.stage >= 2 ? shard.of[Role::grad][space] : (here ? whole.of[Role::grad][space] : 0));
    add("moments", shard.of[Role::moment][space]);
    add("constants", here ? whole.of[Role::constant][space] : 0);
    int64_t update_needs = 0;
    for (const ProgramPlan& p : own.programs)
      update_needs = std::max(update_needs, p.transient_bytes[space]);
    if (!here) {
      add("staging", update_needs);
      continue;
    }
    const ProgramPlan* most = nullptr;
    for (const ProgramPlan& p : pass.programs)
      if (!most || p.transient_bytes[space] > most->transient_bytes[space]) most = &p;
    const int64_t held = most->transient_bytes[space];
    add("activations", most->kept_bytes);
    add("gathered", most->staging_bytes);  // weights and gradients in transfer
    add("workspace", most->workspace_bytes);
    add("temporaries", held - most->kept_bytes - most->staging_bytes - most->workspace_bytes);
    if (update_needs > held) add("update", update_needs - held);
    add("alignment", (kArenaAlignment - plan.bytes[space] % kArenaAlignment) % kArenaAlignment);
  }
  // Traffic between the ranks after the backward pass: gradients are summed (stages 0 and 1), new
  // weights are gathered (stages 0 to 2).
  if (speeds.peer_bytes_per_second > 0 && layout.ranks > 1) {
    int64_t bytes = 0;
    for (const UpdateWeight& w : weights) bytes += w.type.bytes();
    const int times = layout.stage <= 1 ? 2 : layout.stage == 2 ? 1 : 0;
    seconds += times * static_cast<double>(bytes) * (n - 1) / n / speeds.peer_bytes_per_second;
  }
  plan.seconds = seconds;
  return plan;
}

Result<std::vector<RankPlan>> try_layouts(const TaskModel& m, const Backend& backend, int64_t ranks,
                                          int64_t row_tokens, const DeviceSpec& device,
                                          const ArenaLimits& limits) {
  std::vector<RankPlan> tried;
  const int64_t wanted = m.settings().per_device_train_batch_size;
  constexpr Space kDevice = Space::device;
  std::vector<RankLayout> order;
  for (const bool again : {false, true}) {
    for (int stage = 0; stage <= 3; ++stage)
      order.push_back({ranks, stage, kDevice, kDevice, again});
    for (const Space home : {Space::host, Space::disk})
      for (const Space others : {kDevice, home}) order.push_back({ranks, 3, home, others, again});
  }
  for (const RankLayout& layout : order) {
    RankPlan one = HONE_TRY(plan_rank(m, backend, layout, 1, row_tokens, device));
    const auto over = [&](const RankPlan& p) {
      return Needs{p.bytes[kDevice], p.bytes[Space::host] * ranks, p.bytes[Space::disk] * ranks};
    };
    if (!fits(over(one), limits)) {
      one.why = excess_text(over(one), limits);
      one.rows = 0;
      tried.push_back(std::move(one));
      continue;
    }
    for (int64_t rows = wanted; rows > 1; --rows) {
      if (wanted % rows != 0) continue;
      RankPlan more = HONE_TRY(plan_rank(m, backend, layout, rows, row_tokens, device));
      if (!fits(over(more), limits)) continue;
      one = std::move(more);
      break;
    }
    one.why = "the first that fits";
    tried.push_back(std::move(one));
    break;
  }
  return tried;
}

}  // namespace hone

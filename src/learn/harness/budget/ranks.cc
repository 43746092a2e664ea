#include "learn/harness/budget/ranks.h"

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

// Forward and backward: other ranks act as a place that weights come from and gradients go to.
Placement between_ranks(const RankLayout& layout, const TaskSettings& s) {
  Placement how = Placement::of(s);
  how.optimizer = "none";
  how.param = layout.stage >= 3 ? "cpu" : "none";
  how.gradient = layout.stage >= 2 ? "cpu" : "none";
  how.gradient_checkpointing |= layout.gradient_checkpointing;
  return how;
}

Speeds speeds_between_ranks(const RankLayout& layout, const DeviceSpec& device) {
  Speeds speeds = device;
  if (speeds.peer_bytes_per_second <= 0 || layout.ranks <= 1) return speeds;
  const auto n = static_cast<double>(layout.ranks);
  const double links = layout.others == Space::device ? speeds.peer_bytes_per_second
                                                      : n * speeds.host_bytes_per_second;
  speeds.host_bytes_per_second = std::min(speeds.peer_bytes_per_second, links) * n / (n - 1);
  return speeds;
}

// The programs of a rank over rows, or those over its weights.
struct RankPrograms {
  RunPlan plan;
  double seconds = 0, flops = 0;  // of a step
};

Result<RankPrograms> passes_over_rows(const TaskModel& cut, const Backend& backend, int64_t rows,
                                      int64_t row_tokens, const Speeds& speeds) {
  const TaskSettings& s = cut.settings();
  const double micro_batches = micro_batches_of(s, s.per_device_train_batch_size, rows);
  RunShapes shapes = shapes_without_data(cut, row_tokens, rows, false, true, s.do_eval);
  shapes.copies = false;  // the weights of a rank are planned in f32
  RankPrograms r;
  std::vector<Program> programs;
  for (RunProgram& p : HONE_TRY(list_programs(cut, shapes))) {
    const bool trains = p.program.name.starts_with("train.");
    if (!trains && !p.program.name.starts_with("eval.")) continue;  // shards accumulate
    HONE_TRY(run_passes(p.program, p.passes, {}));
    if (trains) {
      r.seconds = micro_batches * run_seconds(p.program, speeds);
      r.flops = micro_batches * flops_of(p.program);
    }
    programs.push_back(std::move(p.program));
  }
  r.plan = HONE_TRY(planned(std::move(programs), backend));
  return r;
}

Result<RankPrograms> update_of_rows(const RankLayout& layout, const TaskSettings& s,
                                    const std::vector<UpdateWeight>& weights,
                                    const Backend& backend, const DeviceSpec& device) {
  Program update = build_update(
      layout.stage >= 1 ? shards_of(weights, layout.ranks, s.offload_persistence_threshold)
                        : weights,
      HONE_TRY(update_options(s)));
  TrainPasses passes;
  passes.offload.moments = layout.optimizer;
  passes.offload.params = passes.offload.gradients = layout.others;
  passes.offload.least_elements = s.offload_persistence_threshold;
  HONE_TRY(run_passes(update, update_pipeline(passes), {}));
  RankPrograms r;
  r.seconds = run_seconds(update, device);
  std::vector<Program> updates;
  updates.push_back(std::move(update));
  r.plan = HONE_TRY(planned(std::move(updates), backend));
  return r;
}

// The rank's share of weights that no update has, because they are not trained.
void add_frozen_shards(const RankLayout& layout, const RunPlan& pass, const RunPlan& update,
                       StateBytes& shard) {
  for (const StateSlot& slot : pass.states) {
    if (slot.role != Role::param ||
        std::any_of(update.states.begin(), update.states.end(),
                    [&](const StateSlot& o) { return o.tensor() == slot.tensor(); }))
      continue;
    const bool cut_up = slot.home != Space::device && !slot.type.shape.empty();
    const int64_t rows_of_all = cut_up ? std::max<int64_t>(slot.type.shape[0], 1) : 1;
    const int64_t held = cut_up ? (rows_of_all + layout.ranks - 1) / layout.ranks : 1;
    shard.of[Role::param][cut_up ? layout.others : Space::device] +=
        whole_lines(slot.type.bytes() / rows_of_all * held);
  }
}

// Sums up what a rank holds in a space, by purpose.
class RankBytes {
 public:
  RankBytes(RankPlan& plan, const RunPlan& pass, const RunPlan& update)
      : plan_(plan), pass_(pass), update_(update), whole_(pass), shard_(update) {
    if (plan.layout.stage >= 3) add_frozen_shards(plan.layout, pass, update, shard_);
  }

  void sum() {
    for (const Space space : kSpaces) {
      add_states(space);
      if (space == Space::device)
        add_transients();
      else
        add(space, "staging", update_transients(space));
    }
  }

 private:
  void add(Space space, const char* purpose, int64_t bytes) {
    plan_.bytes[space] += bytes;
    if (space == Space::device && bytes > 0) plan_.by_purpose[purpose] += bytes;
  }

  void add_states(Space space) {
    const bool here = space == Space::device;
    const int stage = plan_.layout.stage;
    const auto uncut = [&](Role role) { return here ? whole_.of[role][space] : 0; };
    add(space, "params", stage >= 3 ? shard_.of[Role::param][space] : uncut(Role::param));
    add(space, "gradients", stage >= 2 ? shard_.of[Role::grad][space] : uncut(Role::grad));
    add(space, "moments", shard_.of[Role::moment][space]);
    add(space, "constants", uncut(Role::constant));
  }

  int64_t update_transients(Space space) const {
    int64_t most = 0;
    for (const ProgramPlan& p : update_.programs) most = std::max(most, p.transient_bytes[space]);
    return most;
  }

  void add_transients() {
    constexpr Space kHere = Space::device;
    const ProgramPlan* most = nullptr;
    for (const ProgramPlan& p : pass_.programs)
      if (!most || p.transient_bytes[kHere] > most->transient_bytes[kHere]) most = &p;
    const int64_t held = most->transient_bytes[kHere], update = update_transients(kHere);
    add(kHere, "activations", most->kept_bytes);
    add(kHere, "gathered", most->staging_bytes);  // weights and gradients in transfer
    add(kHere, "workspace", most->workspace_bytes);
    add(kHere, "temporaries",
        held - most->kept_bytes - most->staging_bytes - most->workspace_bytes);
    if (update > held) add(kHere, "update", update - held);
    add(kHere, "alignment",
        (kArenaAlignment - plan_.bytes[kHere] % kArenaAlignment) % kArenaAlignment);
  }

  RankPlan& plan_;
  const RunPlan &pass_, &update_;
  StateBytes whole_, shard_;
};

// Seconds of the traffic between the ranks after the backward pass: gradients are summed (stages 0
// and 1), new weights are gathered (stages 0 to 2).
double exchange_seconds(const RankLayout& layout, const std::vector<UpdateWeight>& weights,
                        const Speeds& speeds) {
  if (speeds.peer_bytes_per_second <= 0 || layout.ranks <= 1) return 0;
  const auto n = static_cast<double>(layout.ranks);
  int64_t bytes = 0;
  for (const UpdateWeight& w : weights) bytes += w.type.bytes();
  const int times = layout.stage <= 1 ? 2 : layout.stage == 2 ? 1 : 0;
  return times * static_cast<double>(bytes) * (n - 1) / n / speeds.peer_bytes_per_second;
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
  const Task task = placed(m.task, between_ranks(layout, m.settings()));
  const TaskModel cut{task, m.config, m.form};
  const TaskSettings& s = *task.settings;
  const Speeds speeds = speeds_between_ranks(layout, device);
  const RankPrograms pass = HONE_TRY(passes_over_rows(cut, backend, rows, row_tokens, speeds));
  const std::vector<UpdateWeight> weights =
      update_weights(m.config, s.optim_target_modules, weights_in_bf16(m.config, s));
  const RankPrograms update = HONE_TRY(update_of_rows(layout, s, weights, backend, device));
  RankPlan plan;
  plan.layout = layout;
  plan.rows = rows;
  plan.flops = pass.flops;
  RankBytes(plan, pass.plan, update.plan).sum();
  plan.seconds = pass.seconds + update.seconds + exchange_seconds(layout, weights, speeds);
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

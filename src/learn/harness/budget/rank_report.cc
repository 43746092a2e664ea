#include "learn/harness/budget/rank_report.h"

#include "base/core/text.h"
#include "engine/device/tpus.h"
#include "engine/ops/ops.h"
#include "learn/train/mesh.h"
#include "learn/train/run_ranks.h"

namespace hone {
namespace {

// Whether a backend runs the messages of ranks.
bool has_collectives(const Backend& backend) {
  Program p(op_table(), "probe");
  Builder b(p);
  ops::all_reduce(b, {p.add_input("x", {DType::f32, {2}})}, Share{0, 2});
  return backend.choose({p, p.nodes.back()}).ok();
}

const char* purpose_of(Role role) {
  switch (role) {
    case Role::param:
      return "params";
    case Role::grad:
      return "gradients";
    case Role::moment:
      return "moments";
    case Role::cache:
      return "kv_cache";
    case Role::copy:
      return "copies";
    default:
      return "constants";
  }
}

// The ranks of a group that cuts states, with the stage that is planned.
Result<int64_t> group_of(const TaskSettings& s, const LayoutOptions& layout,
                         const Cluster& cluster) {
  TrainSettings planned = s;
  planned.zero_stage = layout.stage.value_or(3);
  RunRanks ranks(Share{0, cluster.all()}, cluster.count);
  ranks.set_tensor_ranks(layout.tensor.value_or(1) * layout.pipeline.value_or(1));
  return shard_ranks(planned, ranks, cluster.count);
}

RankReport::Tiles tiles_of(const RunPlan& plan) {
  RankReport::Tiles t;
  int64_t most = 0;
  for (const StateSlot& s : plan.states) {
    const int64_t own = s.type.bytes(), tiled = tiled_bytes(s.type);
    t.bytes += own;
    t.tiled += tiled;
    if (tiled - own <= most) continue;
    most = tiled - own;
    t.worst = fmt::format("{} {}", s.name, s.type.text());
  }
  return t;
}

// The programs of a rank, by the compiler of its TPU.
Result<std::vector<AheadMemory>> compiled_programs(const RankSubject& subject,
                                                   const RankPlan& plan) {
  std::vector<AheadMemory> compiled;
  for (Program& p : HONE_TRY(rank_programs(subject, plan)))
    compiled.push_back(
        HONE_TRY(compile_ahead({&subject.cluster.device, subject.cluster.all()}, std::move(p))));
  return compiled;
}

}  // namespace

BytesByPurpose bytes_by_purpose(const RunPlan& plan) {
  BytesByPurpose m;
  for (const auto& [purpose, bytes] : plan.by_purpose())
    if (bytes > 0) m[purpose][Space::device] = bytes;
  for (const Space space : {Space::host, Space::disk}) {
    int64_t states = 0;
    for (const StateSlot& s : plan.states)
      if (s.home == space && phase_of(s.role) != StatePhase::generation) {
        m[purpose_of(s.role)][space] += s.type.bytes();
        states += s.type.bytes();
      }
    if (const int64_t rest = plan.arena_bytes(space) - states; rest > 0) m["staging"][space] = rest;
  }
  return m;
}

Result<RankReport> rank_report(const Task& task, Pretrained& model, const PlannedDevices& devices,
                               const RankOptions& options) {
  const TaskSettings& s = *task.settings;
  RankReport r;
  r.cluster = devices.cluster;
  const Backend* const here = devices.here.get();
  if (here) {
    r.speeds = machine_speeds(*here, SpeedsWanted::of(s, false));
    static_cast<Speeds&>(r.cluster.device) = r.speeds ? r.speeds->speeds : kTypicalCpu;
  }
  const std::unique_ptr<PlanData> data = HONE_TRY(read_plan_data(task, model, here));
  LayoutOptions layout = HONE_TRY(parse_mesh(options.mesh, r.cluster));
  layout.stage = options.stage;
  layout.group = HONE_TRY(group_of(s, layout, r.cluster));
  const auto backend = here ? plan_backend(*here) : HONE_TRY(plan_backend(r.cluster.device));
  const TaskModel made = HONE_TRY(TaskModel::make(task, model, r.cluster.device));
  static_cast<PlanSubject&>(r) = plan_subject(task, model, made);
  r.is_here = here != nullptr;
  if (data) r.data_rows = data->feed->train_rows();
  r.links = links_of(r.cluster, options.links);
  const RankSubject subject{.model = made,
                            .backend = *backend,
                            .cluster = r.cluster,
                            .speeds = r.cluster.device,
                            .links = r.links.speeds,
                            .row_tokens = r.row.tokens,
                            .stream_bytes = stream_bytes(s, r.row.tokens),
                            .data = data ? &data->examples : nullptr,
                            .is_here = r.is_here};
  r.limits = limits_of(*task_of_rank(subject, {}).settings, backend->spec(), subject.stream_bytes);
  r.runtime_bytes = r.cluster.device.own_memory ? r.cluster.device.runtime_bytes : kRuntimeBudget;
  r.layouts = HONE_TRY(compare_layouts(subject, layout, options.links));
  r.warnings = layout_warnings(r.layouts, r.cluster);
  r.copies = memory_copies(s, r.layouts.shown().fit.plan, saved_weights(made.config),
                           r.cluster.all(), r.cluster.machines);
  if (r.cluster.device.kernels == "tpu") {
    r.tiles = tiles_of(r.layouts.shown().fit.plan);
    if (!is_of_one_host({&r.cluster.device, r.cluster.all()}))
      r.warnings.push_back(
          "hone train runs on TPUs of one host: this slice has several, and is one machine "
          "here");
    if (options.compile) r.compiled = HONE_TRY(compiled_programs(subject, r.layouts.shown()));
  }
  if (!has_collectives(*backend))
    r.warnings.push_back(fmt::format(
        "hone train does not run several ranks on {} yet: its kernels have no collectives",
        r.cluster.device.name));
  for (const std::string& guess : r.links.guesses)
    r.warnings.push_back("a figure is a guess: " + guess);
  return r;
}

}  // namespace hone

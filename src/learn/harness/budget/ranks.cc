#include "learn/harness/budget/ranks.h"

#include <algorithm>
#include <optional>

#include "base/core/text.h"
#include "engine/device/rank_kernels.h"
#include "engine/device/tpus.h"
#include "learn/harness/feed.h"
#include "learn/train/run_ranks.h"

namespace hone {
namespace {

// Accepts collectives on devices that have no kernels for them yet: their scratch is that of others.
class RankBackend : public NullBackend {
 public:
  explicit RankBackend(const Backend& like) : NullBackend(&like) {}
  Result<Choice> choose(const NodeView& n) const override {
    Result<Choice> choice = NullBackend::choose(n);
    if (!choice.ok() && n.node.op->traffic) return rank_choice(n);
    return choice;
  }
};

// Devices that divide a product act as one with the sum of their speeds.
void add_up(std::initializer_list<double*> speeds, int64_t devices) {
  for (double* speed : speeds) *speed *= static_cast<double>(devices);
}
Speeds speeds_of(const RankSubject& x, const RankLayout& l) {
  Speeds s = x.speeds;
  add_up({&s.f32_flops, &s.bf16_flops, &s.f16_flops, &s.bytes_per_second, &s.host_bytes_per_second},
         l.tensor_by_formula());
  return s;
}
LinkSpeeds links_of(const RankSubject& x, const RankLayout& l) {
  LinkSpeeds s = x.links;
  add_up({&s.near_bytes_per_second, &s.far_bytes_per_second}, l.tensor_by_formula());
  s.near_ranks = std::max<int64_t>(1, x.cluster.count / l.divided_by_formula());
  return s;
}

void multiply(ArenaLimits& limits, int64_t n) {
  for (int64_t* limit : {&limits.device, &limits.host, &limits.disk})
    if (*limit != kNoLimit) *limit *= n;
}

// The bytes that this rank sends to those that divide its products.
double tensor_traffic(const Program& p) {
  double bytes = 0;
  for (const Node& n : p.nodes)
    if (n.op->traffic && n.attrs.has("stride") && n.attrs.integer("stride") == 1)
      bytes += static_cast<double>(n.op->traffic({p, n}));
  return bytes;
}

class RankPlanner {
 public:
  RankPlanner(const RankSubject& x, const RankLayout& layout)
      : x_(x),
        layout_(layout),
        task_(task_of_rank(x, layout)),
        model_(x.model.with(task_)),
        backend_(x.backend) {
    model_.memo = &memo_;
  }
  RankPlanner(const RankPlanner&) = delete;

  Result<RankPlan> plan() {
    plan_.layout = layout_;
    HONE_TRY(fit());
    if (!plan_.fits()) return std::move(plan_);
    HONE_TRY(predict());
    return std::move(plan_);
  }

  // Those that train in the largest shape, of the plan that fits.
  Result<std::vector<Program>> programs(const Fit& fit) {
    RunShapes of_run = HONE_TRY(shapes(fit.rows, fit.whole));
    of_run.budgets = fit.budgets;
    std::vector<Program> all = HONE_TRY(run_programs(model_, of_run));
    std::erase_if(all, [&](const Program& p) {
      return (p.name.starts_with("accumulate.") && micro_batches(fit.rows) <= 1) ||
             !is_of_largest(p, of_run);
    });
    return all;
  }

 private:
  const TaskSettings& settings() const { return *task_.settings; }
  // Whether a program trains in the largest shape.
  static bool is_of_largest(const Program& p, const RunShapes& of_run) {
    const auto trains = [&](const char* kind) {
      return p.name == program_name(kind, of_run.train.shapes.back());
    };
    return p.name == "update" || trains("step") || trains("train") || trains("accumulate");
  }
  // Their number in a step whose rows are all of the largest shape.
  double micro_batches(int64_t rows) const {
    return micro_batches_of(settings(), settings().per_device_train_batch_size, rows);
  }

  Result<RunShapes> shapes(int64_t rows, bool whole) {
    const TaskSettings& s = settings();
    if (x_.data == nullptr)
      return shapes_without_data(model_, x_.row_tokens, rows, whole, true, s.do_eval);
    if (!feed_) feed_.emplace(HONE_TRY(RowFeed::make(s, *x_.data)));
    return shapes_of_data(model_, *x_.data, &*feed_->steps(), rows, whole);
  }

  Status fit() {
    const TaskSettings& s = settings();
    const int64_t wanted = s.per_device_train_batch_size;
    HONE_TRY(shapes(wanted, true));  // reads the rows
    ArenaLimits limits = limits_of(s, x_.backend.spec(), x_.stream_bytes);
    plan_.code_bytes = HONE_TRY(code_bytes(wanted));
    limits.device -= plan_.code_bytes;
    multiply(limits, layout_.tensor_by_formula());
    const int64_t elsewhere = layout_.pipeline > 1 ? HONE_TRY(states_of_others()) : 0;
    limits.device += elsewhere;
    std::optional<Split> keep;
    if (layout_.rows > 0) keep = Split{layout_.rows, layout_.rows == wanted};
    plan_.fit = HONE_TRY(fit_run(
        model_, backend_, wanted, limits,
        [&](int64_t rows, bool whole) { return *shapes(rows, whole); }, keep));
    Needs& needs = plan_.needs = needs_of(plan_.fit.plan, x_.backend.spec(), limits);
    needs.device -= elsewhere;
    limits.device -= elsewhere;
    for (int64_t* n : {&needs.device, &needs.host, &needs.disk}) *n /= layout_.tensor_by_formula();
    for (int64_t* n : {&limits.device, &limits.host, &limits.disk})
      if (*n != kNoLimit) *n /= layout_.tensor_by_formula();
    needs.device += plan_.code_bytes;
    limits.device += plan_.code_bytes;
    if (!plan_.fits()) plan_.why = excess_text(needs, limits);
    return Ok{};
  }

  // Bytes of all programs on a TPU, which keeps them loaded.
  Result<int64_t> code_bytes(int64_t rows) {
    int64_t bytes = 0;
    if (x_.cluster.device.kernels != "tpu") return bytes;
    for (const Program& p : HONE_TRY(run_programs(model_, *shapes(rows, true))))
      bytes += tpu_code_bytes(p);
    return bytes;
  }

  // Bytes of states of the layers that other ranks of a pipeline have.
  Result<int64_t> states_of_others() {
    const RunPlan one = HONE_TRY(plan_of(model_, backend_, HONE_TRY(shapes(1, false))));
    int64_t phase = 0;
    for (const ProgramPlan& p : one.programs) phase = std::max(phase, p.phase_bytes[Space::device]);
    return (one.state_bytes[Space::device] + phase) / layout_.pipeline * (layout_.pipeline - 1);
  }

  Status predict() {
    const TaskSettings& s = settings();
    RunShapes of_run = HONE_TRY(shapes(plan_.fit.rows, plan_.fit.whole));
    of_run.budgets = plan_.fit.budgets;
    const std::vector<Program> programs = HONE_TRY(run_programs(model_, of_run));
    const Speeds speeds = speeds_of(x_, layout_);
    const LinkSpeeds links = links_of(x_, layout_);
    const StepTimes times = step_times(programs, of_run, speeds, links);
    StepRuns step = mean_step_runs(times, micro_batches(plan_.fit.rows));
    plan_.step_rows =
        static_cast<double>(data_ranks(x_.cluster, layout_) * s.per_device_train_batch_size *
                            s.gradient_accumulation_steps);
    if (feed_) {
      step =
          HONE_TRY(mean_step_runs(s, times, of_run.train, *feed_, micro_batches(plan_.fit.rows)));
      plan_.step_rows = std::min(plan_.step_rows, static_cast<double>(feed_->train_rows()));
    }
    plan_.seconds = times.of(step);
    plan_.alone = step_times(programs, of_run, speeds).of(step);
    count_step(programs, of_run, links, step);
    if (layout_.divided_by_formula() > 1)
      add_divided(of_run, step);
    else
      HONE_TRY(predict_run(times, of_run, speeds));
    return Ok{};
  }

  // Adds the FLOPs and the messages of a rank in a step.
  void count_step(std::span<const Program> programs, const RunShapes& of_run,
                  const LinkSpeeds& links, const StepRuns& step) {
    const auto of_step = [&](FunctionRef<double(const Program&)> amount) {
      return step_amounts(programs, of_run, amount).of(step);
    };
    const auto of_links = [&](double LinkTraffic::*amount) {
      return of_step(
          [&](const Program& p) { return link_traffic_of(p, links.near_ranks).*amount; });
    };
    const auto divided = static_cast<double>(layout_.divided_by_formula());
    plan_.sent = {of_links(&LinkTraffic::near_bytes) / divided,
                  of_links(&LinkTraffic::far_bytes) / divided, of_links(&LinkTraffic::rounds),
                  of_links(&LinkTraffic::messages)};
    plan_.flops = of_step([](const Program& p) { return flops_of(p); }) / divided;
    if (layout_.by_programs)
      plan_.tensor_bytes = of_step([](const Program& p) { return tensor_traffic(p); }) / divided;
  }

  Status predict_run(const StepTimes& times, const RunShapes& of_run, const Speeds& speeds) {
    const TaskSettings& s = settings();
    DeviceSpec device = x_.cluster.device;
    static_cast<Speeds&>(device) = speeds;
    const RunLength length =
        feed_ ? length_of(*feed_, *x_.data) : length_without_data(s, x_.row_tokens);
    plan_.time = HONE_TRY(plan_time(model_, length, plan_.fit.plan, plan_.seconds,
                                    evaluation_seconds(s, times, of_run.eval, length.eval_rows),
                                    device, x_.is_here));
    return Ok{};
  }

  void add_divided(const RunShapes& of_run, const StepRuns& step) {
    const std::vector<BatchShape>& shapes = of_run.train.shapes;
    const Program forward = task_.program(model_.config, shapes.back(), "forward", true);
    const ResidualSums sums = residual_sums(forward);
    micro_batches_ = step.micro_batches();
    // Values of a step have this number of times the bytes of those of the largest shape.
    double of_largest = 0;
    for (size_t k = 0; k < shapes.size(); ++k)
      of_largest += (step.first[k] + step.more[k]) * static_cast<double>(shapes[k].axes[0].size) /
                    static_cast<double>(shapes.back().axes[0].size);
    const double bytes =
        (settings().computes_in_bf16() ? 0.5 : 1) * of_largest * static_cast<double>(sums.bytes);
    const auto pipeline = static_cast<double>(layout_.pipeline);
    plan_.seconds *= (micro_batches_ + pipeline - 1) / micro_batches_ / pipeline;
    plan_.alone /= pipeline;
    if (layout_.tensor > 1) add_tensor(sums.count, bytes);
    if (layout_.pipeline > 1 && sums.count > 0) add_borders(sums.count, bytes);
  }

  // `count`: of residual sums in a forward pass; `bytes`: of theirs in those of a step.
  void add_tensor(int64_t count, double bytes) {
    const auto t = static_cast<double>(layout_.tensor);
    // Forward, again if it is recomputed, and backward; a sum is sent in parts, and back to all.
    const double times =
        (layout_.how.gradient_checkpointing ? 3 : 2) * 2 / static_cast<double>(layout_.pipeline);
    const double rounds = times * micro_batches_ * static_cast<double>(count);
    add({times * (t - 1) / t * bytes, 0, rounds, rounds * (t - 1)});
  }

  // The values that go to the next layers, and their gradients that come back.
  void add_borders(int64_t count, double bytes) {
    const double messages = 2 * micro_batches_;
    const double sent = 2 * bytes / static_cast<double>(count * layout_.tensor);
    const bool far = layout_.divided() > x_.cluster.count;
    add({far ? 0 : sent, far ? sent : 0, messages, messages});
  }

  void add(const LinkTraffic& sent) {
    plan_.sent += sent;
    plan_.seconds += seconds_of(sent, x_.links);
  }

  const RankSubject& x_;
  const RankLayout layout_;
  const Task task_;
  TaskModel model_;
  PlanMemo memo_;
  const RankBackend backend_;
  std::optional<RowFeed> feed_;
  RankPlan plan_;
  double micro_batches_ = 1;
};

}  // namespace

ResidualSums residual_sums(const Program& p) {
  const auto is_product = [&](ValueId v) {
    while (v != kNoValue) {
      const int32_t made = p.values[static_cast<size_t>(v)].node;
      if (made < 0) return false;
      const Node& n = p.nodes[static_cast<size_t>(made)];
      if (n.op->name == "linear" || n.op->name == "matmul") return true;
      if (n.op->name != "dropout" && n.op->name != "reshape" && n.op->name != "cast") return false;
      v = n.in[0];
    }
    return false;
  };
  ResidualSums sums;
  for (const Node& n : p.nodes) {
    if (n.op->name != "add" || p.type(n.in[0]) != p.type(n.in[1])) continue;
    if (!is_product(n.in[0]) && !is_product(n.in[1])) continue;
    ++sums.count;
    sums.bytes += p.type(n.out[0]).bytes();
  }
  return sums;
}

std::string RankLayout::mesh(const Cluster& cluster) const {
  std::string s = fmt::format("data={}", cluster.all() / divided());
  if (tensor > 1) s += fmt::format(",tensor={}", tensor);
  if (pipeline > 1) s += fmt::format(",pipeline={}", pipeline);
  return s;
}

std::string RankLayout::text(const Cluster& cluster) const {
  std::string s =
      fmt::format("{}, ZeRO-{}{}", mesh(cluster), stage,
                  group > 0 && group < cluster.all() ? fmt::format(" in groups of {}", group) : "");
  if (const std::string flags = how.flags(); !flags.empty()) s += ", " + flags;
  return s;
}

int64_t data_ranks(const Cluster& cluster, const RankLayout& l) {
  return cluster.all() / l.divided();
}

Task task_of_rank(const RankSubject& x, const RankLayout& l) {
  Task task = placed(x.model.task, l.how);
  TaskSettings& s = *task.settings;
  const int64_t ranks = data_ranks(x.cluster, l);
  const int64_t all = l.by_programs ? ranks * l.tensor : ranks;
  s.ranks = std::make_shared<RunRanks>(Share{all - 1, all}, x.cluster.count);
  if (l.by_programs) s.ranks->set_tensor_ranks(l.tensor, s.split_invariant > 0);
  if (l.group > 0 && all % l.group == 0) s.ranks->set_shard_ranks(l.group);
  s.zero_stage = l.stage;
  // Divided ranks have the same rows: in a mesh that was asked for those of its run, by formula the
  // rows of all of them.
  if (!l.by_programs) s.per_device_train_batch_size *= l.divided();
  return task;
}

Result<RankPlan> plan_rank(const RankSubject& x, const RankLayout& layout) {
  return RankPlanner(x, layout).plan();
}

Result<std::vector<Program>> rank_programs(const RankSubject& x, const RankPlan& plan) {
  return RankPlanner(x, plan.layout).programs(plan.fit);
}

}  // namespace hone

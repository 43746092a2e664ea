#include "learn/harness/budget/layouts.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/data/rows/count_text.h"
#include "learn/train/mesh.h"

namespace hone {
namespace {

Placement with_checkpointing(Placement how) {
  how.gradient_checkpointing = true;
  return how;
}

class LayoutSearch {
 public:
  LayoutSearch(const RankSubject& x, const LayoutOptions& options, const LinkSettings& links)
      : x_(x), options_(options), links_(links), base_(Placement::of(x.model.settings())) {}

  Result<Layouts> run() {
    for (const bool again : {false, true})
      for (const RankLayout& layout : layouts(again)) HONE_TRY(try_one(layout));
    if (!any_fits()) HONE_TRY(leave_the_device());
    choose();
    if (found_.best) {
      HONE_TRY(try_smaller_rows());
      HONE_TRY(try_scales());
    }
    return std::move(found_);
  }

 private:
  bool takes(int64_t stage) const { return !options_.stage || *options_.stage == stage; }
  bool takes_tensor(int64_t t) const { return !options_.tensor || *options_.tensor == t; }
  bool any_fits() const {
    return std::any_of(found_.tried.begin(), found_.tried.end(),
                       [](const RankPlan& p) { return p.fits() && !p.layout.by_formula(); });
  }

  // A mesh that is asked for is the one of hone train.
  std::vector<RankLayout> layouts(bool again) const {
    const Placement how = again ? with_checkpointing(base_) : base_;
    std::vector<RankLayout> all;
    if (again && how == base_) return all;
    const Cluster& g = x_.cluster;
    if (options_.tensor.value_or(1) > 1 && options_.pipeline.value_or(1) == 1) {
      const int most = x_.cluster.all() > *options_.tensor ? 3 : 0;  // without rows to divide
      for (int stage = 0; stage <= most; ++stage)
        if (takes(stage) || most == 0)
          all.push_back(
              {.stage = stage, .tensor = *options_.tensor, .by_programs = true, .how = how});
      return all;
    }
    if (takes_tensor(1) && options_.pipeline.value_or(1) == 1) {
      for (int stage = options_.group > 0 ? 1 : 0; stage <= 3; ++stage)
        if (takes(stage)) all.push_back({.stage = stage, .group = options_.group, .how = how});
      if (takes(3) && options_.group == 0 && g.machines > 1 && g.count > 1)
        all.push_back({.stage = 3, .group = g.count, .how = how});
    }
    if (!g.device.own_memory) return all;  // products of a CPU are measured whole
    for (int64_t t = 2; t <= g.count; t *= 2)
      for (const int stage : {1, 3})
        if (takes_tensor(t) && takes(stage) && g.count % t == 0 &&
            options_.pipeline.value_or(1) == 1)
          all.push_back({.stage = stage, .tensor = t, .how = how});
    constexpr int64_t kMostStages = 16;
    for (int64_t p = 2; p <= std::min(kMostStages, g.machines); ++p)
      if (takes_tensor(g.count) && takes(1) && g.machines % p == 0 &&
          options_.pipeline.value_or(p) == p)
        all.push_back({.stage = 1, .tensor = g.count, .pipeline = p, .how = how});
    return all;
  }

  // Recomputing is of no use to a layout that needs one micro-batch without it; one by formula is tried
  // with it only if it does not fit.
  bool is_settled(const RankLayout& layout) const {
    const int64_t batch = x_.model.settings().per_device_train_batch_size;
    return layout.how != base_ &&
           std::any_of(found_.tried.begin(), found_.tried.end(), [&](const RankPlan& p) {
             return p.layout.stage == layout.stage && p.layout.group == layout.group &&
                    p.layout.tensor == layout.tensor && p.layout.pipeline == layout.pipeline &&
                    p.layout.how == base_ && p.fit.rows >= (layout.by_formula() ? 1 : batch);
           });
  }

  Status try_one(const RankLayout& layout) {
    if (is_settled(layout)) return Ok{};
    found_.tried.push_back(HONE_TRY(plan_rank(x_, layout)));
    return Ok{};
  }

  RankLayout leaving(int stage, const Placement& how) const {
    const int64_t tensor = options_.pipeline.value_or(1) == 1 ? options_.tensor.value_or(1) : 1;
    return {.stage = stage,
            .group = options_.group,
            .tensor = tensor,
            .by_programs = tensor > 1,
            .how = how};
  }

  Status leave_the_device() {
    const int stage = static_cast<int>(options_.stage.value_or(3));
    const std::vector<std::string> kinds = x_.cluster.device.own_memory
                                               ? std::vector<std::string>{"cpu", "nvme"}
                                               : std::vector<std::string>{"nvme"};
    Placement how = with_checkpointing(base_);
    for (const std::string& kind : kinds)
      for (std::string Placement::*what :
           {&Placement::optimizer, &Placement::gradient, &Placement::param}) {
        how.*what = kind;
        HONE_TRY(try_one(leaving(stage, how)));
        if (any_fits()) return Ok{};
      }
    return Ok{};
  }

  void choose() {
    std::optional<size_t> formula;
    for (size_t i = 0; i < found_.tried.size(); ++i) {
      const RankPlan& p = found_.tried[i];
      if (!p.fits()) continue;
      std::optional<size_t>& best = p.layout.by_formula() ? formula : found_.best;
      if (!best || p.rows_per_second() > found_.tried[*best].rows_per_second()) best = i;
    }
    if (formula && (!found_.best || found_.tried[*formula].rows_per_second() >
                                        found_.tried[*found_.best].rows_per_second()))
      found_.faster = formula;
  }

  Status try_smaller_rows() {
    RankLayout layout = found_.tried[*found_.best].layout;
    const int64_t batch = x_.model.settings().per_device_train_batch_size;
    std::vector<int64_t> rows;
    for (int64_t r = found_.tried[*found_.best].fit.rows - 1; r >= 1; --r)
      if (batch % r == 0) rows.push_back(r);
    constexpr size_t kShown = 3;
    while (rows.size() > kShown) rows.erase(rows.begin() + std::ssize(rows) / 2);
    for (const int64_t r : rows) {
      layout.rows = r;
      found_.smaller.push_back(HONE_TRY(plan_rank(x_, layout)));
    }
    return Ok{};
  }

  std::vector<Cluster> groups() const {
    std::vector<Cluster> all;
    const auto add = [&](int64_t machines, int64_t count) {
      Cluster g = x_.cluster;
      g.machines = machines;
      g.count = count;
      if (all.empty() || all.back().all() != g.all()) all.push_back(std::move(g));
    };
    if (x_.cluster.device.own_memory) add(1, 1);  // one rank alone has all cores of a CPU
    for (const int64_t machines : {int64_t{1}, x_.cluster.machines / 2})
      if (machines > 0 && machines < x_.cluster.machines) add(machines, x_.cluster.count);
    return all;
  }

  // The layout of the best, or stage 3, which needs the least memory.
  Result<Scale> scale(const Cluster& cluster) {
    RankSubject x = x_;
    x.cluster = cluster;
    x.links = links_of(cluster, links_).speeds;
    Scale s{cluster, {}};
    RankLayout layout = found_.tried[*found_.best].layout;
    s.plan = HONE_TRY(plan_rank(x, layout));
    if (s.plan.fits() || layout.stage == 3 || !takes(3)) return s;
    layout.stage = 3;
    s.plan = HONE_TRY(plan_rank(x, layout));
    return s;
  }

  Status try_scales() {
    if (x_.cluster.all() == 1) return Ok{};
    const int64_t tensor = found_.tried[*found_.best].layout.tensor;
    for (const Cluster& cluster : groups())
      if (cluster.count % tensor == 0) found_.scales.push_back(HONE_TRY(scale(cluster)));
    found_.scales.push_back({x_.cluster, found_.tried[*found_.best]});
    return Ok{};
  }

  const RankSubject& x_;
  const LayoutOptions& options_;
  const LinkSettings& links_;
  const Placement base_;
  Layouts found_;
};

}  // namespace

Result<LayoutOptions> parse_mesh(const std::string& text, const Cluster& cluster) {
  LayoutOptions options;
  if (text.empty()) return options;
  const std::string wanted = fmt::format("a product of {}", cluster.all());
  const MeshAxes mesh = HONE_TRY(read_mesh(text, wanted));
  const int64_t tensor = mesh.tensor, pipeline = mesh.pipeline;
  const int64_t ranks = mesh.data.value_or(cluster.all() / (tensor * pipeline)) * tensor * pipeline;
  if (ranks != cluster.all())
    return bad_mesh(text, fmt::format("{} ranks are not {} devices", ranks, cluster.all()), wanted);
  if (tensor > cluster.count || cluster.count % tensor != 0)
    return bad_mesh(text,
                    fmt::format("{} ranks that divide a product are not in one machine of {}",
                                tensor, cluster.count),
                    wanted);
  if (pipeline > 1 && tensor != cluster.count)
    return bad_mesh(text, "a pipeline is compared with all devices of a machine as tensor ranks",
                    wanted);
  options.tensor = tensor;
  options.pipeline = pipeline;
  return options;
}

Result<Layouts> compare_layouts(const RankSubject& x, const LayoutOptions& options,
                                const LinkSettings& links) {
  return LayoutSearch(x, options, links).run();
}

double Layouts::scaling(const Scale& s) const {
  const auto of_device = [](const Scale& one) {
    return one.plan.rows_per_second() / static_cast<double>(one.cluster.all());
  };
  const auto first = std::ranges::find_if(scales, [](const Scale& one) { return one.plan.fits(); });
  return first != scales.end() && of_device(*first) > 0 ? of_device(s) / of_device(*first) : 1;
}

std::vector<std::string> layout_warnings(const Layouts& all, const Cluster& cluster) {
  std::vector<std::string> lines;
  if (!all.best) return lines;
  const RankPlan& best = all.shown();
  const auto places = [](const Cluster& g) {
    return g.all() == 1 ? "one device" : count_of(g.machines, "machine");
  };
  const Scale* most = nullptr;
  for (const Scale& s : all.scales)
    if (s.plan.fits() && (!most || s.plan.rows_per_second() > most->plan.rows_per_second()))
      most = &s;
  if (most && most->cluster.all() < cluster.all())
    lines.push_back(fmt::format("more is slower: {} rows a second with {}, {} with {}",
                                rate_text(most->plan.rows_per_second()), places(most->cluster),
                                rate_text(best.rows_per_second()), places(cluster)));
  if (best.efficiency() < 0.5)
    lines.push_back(
        fmt::format("{:.0f} % of a step waits for messages; more micro-batches in a step "
                    "(--gradient_accumulation_steps) or a faster network help",
                    100 * (1 - best.efficiency())));
  return lines;
}

}  // namespace hone

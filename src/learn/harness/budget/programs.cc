#include "learn/harness/budget/programs.h"

#include <algorithm>
#include <cmath>

#include "engine/backends/null/null.h"
#include "engine/ops/cost.h"
#include "engine/passes/differentiate.h"
#include "engine/session/session.h"
#include "learn/data/batches/rank_rows.h"
#include "learn/harness/training_precision.h"
#include "learn/models/adapter_config.h"
#include "learn/models/errors.h"
#include "learn/models/image_model.h"
#include "learn/models/layer_pattern.h"
#include "learn/models/quantization.h"
#include "learn/train/errors.h"
#include "learn/train/run_ranks.h"
#include "learn/train/shared_update.h"
#include "learn/train/update_groups.h"

namespace hone {

Result<TaskModel> TaskModel::make(const Task& task, const Pretrained& model,
                                  const DeviceSpec& device) {
  RunForm form = HONE_TRY(task.form(model));
  TaskModel m{task, model.config, std::move(form)};
  m.take(device);
  return m;
}

void TaskModel::take(const DeviceSpec& device) {
  host_lane = device.host_lane;
  keeps_narrow = device.keeps_narrow;
  rows_apart = device.rows_apart;
}

std::vector<BatchShape> RunShapes::train_shapes(const RunForm& form) const {
  std::vector<BatchShape> shapes = train.shapes;
  if (!accumulate && form.labels_vary && !shapes.empty())
    shapes.push_back(shapes.back().with(kLabels, shapes.back().axes[0].size));
  return shapes;
}

namespace {

int64_t units_of(int64_t step_rows, int64_t unit_rows) {
  return (step_rows + unit_rows - 1) / unit_rows;
}

// The shapes of each size of images, one size after another.
void add_sides(const RunForm& form, BatchGrid& grid) {
  if (form.sides.empty()) return;
  std::vector<BatchShape> all;
  for (const int64_t side : form.sides)
    for (const BatchShape& shape : grid.shapes) all.push_back(shape.with(kSide, side));
  grid.shapes = std::move(all);
}

// Every token of a unit may have a label, so a unit is one pass.
void add_labels(const RunForm& form, BatchGrid& grid) {
  if (!form.labels_vary) return;
  for (BatchShape& shape : grid.shapes) shape = shape.with(kLabels, shape.axes[0].size);
}

}  // namespace

std::string program_name(std::string_view kind, const BatchShape& shape) {
  return fmt::format("{}.{}", kind, shape.text());
}

RunShapes shapes_without_data(const TaskModel& m, int64_t row_tokens, int64_t rows, bool whole,
                              bool train, bool eval) {
  const TaskSettings& s = m.settings();
  const auto grid = [&](int64_t r, int64_t most) {
    BatchGrid grid;
    BatchShape& shape = grid.shapes.emplace_back();
    for (const RowLimit& limit : m.form.limits) {
      const int64_t tokens = r * (&limit == m.form.limits.data() ? row_tokens : limit.tokens);
      shape.axes.push_back(
          {limit.axis, m.form.packs_rows ? (tokens + 63) / 64 * 64 : tokens});  // in lines of 64
    }
    grid.max_rows = m.form.packs_rows ? most : r;
    // The last step of an epoch of a stream may leave slack, which takes a sequence.
    const bool slack = m.form.packs_rows || s.streaming;
    shape.axes.push_back({kSequences, grid.max_rows + (slack ? 1 : 0)});
    return grid;
  };
  RunShapes shapes;
  if (train && s.split_invariant > 0)
    shapes.units = units_of(s.batch_rows() * s.gradient_accumulation_steps, rows);
  if (train) shapes.train = grid(rows, whole || shapes.units > 0 ? rows : 2 * rows);
  if (shapes.units > 0) add_labels(m.form, shapes.train);
  add_sides(m.form, shapes.train);
  shapes.accumulate = train && !whole;
  if (eval) {
    const int64_t r = std::min(rows, s.per_device_eval_batch_size);
    shapes.eval = grid(r, 2 * r);
    if (m.form.generation) shapes.writes = m.form.generation(row_tokens, r);
  }
  return shapes;
}

RunShapes shapes_of_data(const TaskModel& m, const Examples& examples, const StepCount* steps,
                         int64_t rows, bool whole) {
  const auto lengths_of = [&](const ExampleRows& of, int64_t most) {
    std::vector<AxisLengths> lengths;
    for (size_t a = 0; a < of.axes.size(); ++a) {
      lengths.push_back({m.form.limits[a].axis, of.axes[a].lengths()});
      lengths.back().lengths.resize(static_cast<size_t>(most));
    }
    return lengths;
  };
  const int64_t eval_batch = m.settings().per_device_eval_batch_size;
  RunShapes shapes;
  if (examples.train) {
    // The most rows of a rank: all ranks have the same shapes. Units are those of all ranks.
    const bool in_units = m.settings().split_invariant > 0;
    const auto most_of_step = [&](int64_t step) {
      const StepRows at = steps->rows_of_step(step);
      return in_units ? at.end - at.begin
                      : most_rows_of_rank(at.end - at.begin, m.settings().batch_rows(),
                                          m.settings().ranks->data().ranks);
    };
    const int64_t all = examples.train->size(), r = std::min(rows, most_of_step(0));
    shapes.train = choose_grid(lengths_of(*examples.train, all), r,
                               most_of_step(steps->steps_per_epoch() - 1) % r, whole || in_units);
    if (in_units) {
      shapes.units = units_of(most_of_step(0), r);
      add_labels(m.form, shapes.train);
    }
    add_sides(m.form, shapes.train);
    shapes.accumulate = !whole;
  }
  if (examples.eval) {
    const int64_t all = examples.eval->size(), compared = std::min(all, examples.compared);
    if (compared > 0) {
      const int64_t r = std::min({rows, eval_batch, compared});
      shapes.eval = choose_grid(lengths_of(*examples.eval, compared), r, compared % r);
    }
    if (m.form.generation) {
      const std::vector<int64_t> sources = examples.eval->axes[0].lengths();
      const int64_t longest =
          sources.empty() ? 0 : *std::max_element(sources.begin(), sources.end());
      shapes.writes = m.form.generation(longest, std::min(eval_batch, all));
    }
  }
  return shapes;
}

namespace {

constexpr std::string_view kWeight = ".weight";

bool is_linear(const ParamSpec& p) {
  return p.shape.size() == 2 && !p.looked_up && p.name.ends_with(kWeight);
}

// As in Transformers' check_target_module_exists: the whole name of the layer, a part of it or a
// regular expression for it.
bool is_named(const std::string& layer, const std::string& target) {
  if (target == "all-linear" || target == "all_linear") return true;
  return layer.find(target) != std::string::npos || matches_layer(target, layer);
}

}  // namespace

std::set<std::string> weights_in_bf16(const ModelConfig& config, const TrainSettings& s) {
  std::set<std::string> names;
  if (!s.pure_bf16()) return names;
  for (const ParamSpec& p : family_of(config).params(config))
    if (!p.of_adapter() && p.scheme.empty() && !p.moves) names.insert(p.name);
  return names;
}

std::vector<UpdateWeight> update_weights(const ModelConfig& config,
                                         const std::vector<std::string>& targets,
                                         const std::set<std::string>& in_bf16) {
  std::vector<UpdateWeight> weights;
  const std::vector<ParamSpec> params = family_of(config).params(config);
  int64_t last = 0;
  for (const ParamSpec& p : params) last = std::max(last, p.depth);
  for (const ParamSpec& p : params) {
    if (!p.is_trained()) continue;
    const DType kept = in_bf16.contains(p.name) ? DType::bf16 : DType::f32;
    UpdateWeight w{p.name, {kept, p.shape}, p.decay, p.looked_up};
    const std::string layer =
        p.name.substr(0, p.name.size() - std::min(p.name.size(), kWeight.size()));
    w.is_target =
        is_linear(p) && std::any_of(targets.begin(), targets.end(),
                                    [&](const std::string& t) { return is_named(layer, t); });
    w.rate = std::pow(config.layer_decay, static_cast<double>(last - p.depth));
    weights.push_back(std::move(w));
  }
  return weights;
}

namespace {

// Weights whose products read copies in two bytes. An offloaded optimizer keeps the weights that it
// updates; texts are then generated in f32, from the weights. A device with memory of its own has
// the copies beside the weights.
Status add_copies(TrainPasses& how, const TaskModel& m, const RunShapes& shapes,
                  const BatchShape& train, const UpdateOptions& update) {
  if (how.sharding.any() || how.tensor.any()) return Ok{};  // a copy needs all of a weight
  const Space masters = how.offload.beside_moments();
  const bool resident = masters == Space::device;
  if (how.precision == Precision::f32 || !shapes.copies || !how.in_bf16.empty()) return Ok{};
  Program forward = m.task.program(m.config, train, "weights", true);
  if (resident) {
    if (!how.narrows()) return Ok{};
    HONE_TRY(run_passes(forward, forward_pipeline(WeightStorage::f32, how),
                        {.checks = PassChecks::last}));
    how.copies = resident_weights(forward);
    how.resident_copies = true;
    // Averages and texts read whole weights.
    const Op* rule = op_table().find(rule_of(update, true).op);
    how.halves = rule != nullptr && rule->attr("halves") != nullptr && update.ema_decay == 0 &&
                 !shapes.writes;
    return Ok{};
  }
  if (shapes.writes) return Ok{};
  how.copies = multiplied_weights(forward);
  if (how.copies.empty()) return Ok{};
  how.offload.masters = masters;
  // The device makes copies that are on disk.
  if (how.offload.params == Space::disk) how.offload.host_lane = HostLane::none;
  return Ok{};
}

struct Trained {
  const std::vector<UpdateWeight>& weights;
  const UpdateOptions& update;
  const TrainPasses& how;
};

// The embeddings of a JointLoss are a state while it is differentiated.
Result<bool> embeddings_as_input(Program& p) {
  constexpr const char* kEmbeddings = "embeddings";
  const State* state = p.state_named(kEmbeddings);
  HONE_BUG_IF(state == nullptr, "the joint loss has no state {}", kEmbeddings);
  p.inputs.push_back({kEmbeddings, state->value});
  std::erase_if(p.states, [&](const State& s) { return s.name == kEmbeddings; });
  for (Named& output : p.outputs)
    if (output.name == grad_name(kEmbeddings)) output.name = "gradient";
  return true;
}

// The programs of steps, by shape.
void add_train_programs(const TaskModel& m, const RunShapes& shapes, const Trained& t,
                        std::vector<RunProgram>& programs) {
  const auto append = [weights = t.weights, update = t.update](Program& p) -> Result<bool> {
    append_update(p, weights, update);
    return true;
  };
  // From ZeRO stage 2 on, the gradients of a micro-batch are cut between the ranks.
  const auto cut = [&](bool again) -> std::function<Result<bool>(Program&)> {
    if (!t.update.is_shared() || t.update.stage < 2) return {};
    return [weights = t.weights, update = t.update, again](Program& p) -> Result<bool> {
      share_gradients(p, weights, update, again);
      return true;
    };
  };
  const JointLoss* joint = m.task.joint && shapes.accumulate ? &*m.task.joint : nullptr;
  for (const BatchShape& shape : shapes.train_shapes(m.form)) {
    const auto build = [&](std::string_view kind) {
      if (joint) return joint->part(m.config, shape, program_name(kind, shape));
      return m.task.program(m.config, shape, program_name(kind, shape), true);
    };
    if (!shapes.accumulate) {
      programs.push_back({build("step"), step_pipeline(append, t.how)});
      continue;
    }
    if (joint)
      programs.push_back({joint->embed(m.config, shape, program_name("embed", shape)),
                          forward_pipeline(WeightStorage::f32, t.how)});
    programs.push_back({build("train"), train_pipeline(false, t.how, cut(false))});
    programs.push_back({build("accumulate"), train_pipeline(true, t.how, cut(true))});
  }
  if (joint) {
    const TaskSettings& s = m.settings();
    const int64_t rows = s.batch_rows() * s.gradient_accumulation_steps;
    programs.push_back({joint->loss(m.config, rows, "joint"), step_pipeline(embeddings_as_input)});
  }
  if (shapes.accumulate)
    programs.push_back({build_update(t.weights, t.update), update_pipeline(t.how)});
}

}  // namespace

namespace {

// DoRA begins with the lengths of a weight's rows, which a rank with some of them could not measure.
void keep_measured_whole(const ModelConfig& config, Sharding& sharding) {
  if (!config.adapter || !config.adapter->dora) return;
  const std::vector<std::string> layers = adapted_layers(config);
  for (const ParamSpec& spec : family_of(config).params(config))
    if (std::any_of(layers.begin(), layers.end(),
                    [&](const std::string& layer) { return spec.name == layer + ".weight"; }))
      for (const KeptState& kept : kept_states(spec)) sharding.whole.insert(kept.name);
}

// Units are computed one by one: their statistics would be of one unit.
Status refuse_statistics_of_units(const ModelConfig& config) {
  const auto moved = moved_statistics(config);
  if (moved.empty()) return Ok{};
  return Error(err::kConfigNotOffered,
               fmt::format("a model with batch norms ('{}') is not trained with --split_invariant",
                           moved.front().first))
      .todo(
          "leave it out: statistics are then those of the rows of all ranks, and losses differ in "
          "their last bits");
}

Error not_divided(const TrainSettings& s, const std::string& what, const std::string& todo) {
  return Error(err::kMeshDoesNotFit,
               fmt::format("{} does not combine with the axis 'tensor'", what))
      .at("--mesh " + s.mesh)
      .todo(todo);
}

// Rules of an optimizer that look at whole weights.
Status check_rules(const TrainSettings& s, const std::vector<UpdateWeight>& weights,
                   const UpdateOptions& update) {
  for (const UpdateWeight& w : weights) {
    const Rule rule = rule_of(update, is_own(w, update));
    const bool has_others =
        std::any_of(rule.states.begin(), rule.states.end(), [&](const StateList& list) {
          const std::optional<OptimizerState> one = list(w.type);
          return one && (one->type != w.type || one->name == kAverageState);
        });
    if (works_by_element(rule) && !has_others) continue;
    return not_divided(s, fmt::format("--optim {}, which looks at whole weights,", s.optim),
                       "choose another optimizer, such as adamw_torch");
  }
  return Ok{};
}

// The ranks that divide the rows of products in a run with --split_invariant.
Result<RowDivision> division_of_rows(const TaskModel& m, const RunShapes& shapes) {
  const TaskSettings& s = m.settings();
  const RunRanks& ranks = *s.ranks;
  if (ranks.tensor().alone()) return RowDivision{};
  if (!m.rows_apart)
    return not_divided(s,
                       "--split_invariant on this device, where a product of fewer rows may add in "
                       "another order,",
                       "use --device cpu, or leave one of them out");
  if (shapes.writes)
    return not_divided(s, "generating texts in evaluations",
                       "leave --predict_with_generate or the axis out");
  return RowDivision{ranks.tensor(), ranks.data().rank * ranks.tensor().ranks};
}

// Gives the programs of a run on a mesh their parts of weights and their ranks.
Status divide(const TaskModel& m, const RunShapes& shapes, std::vector<UpdateWeight>& weights,
              UpdateOptions& update, TrainPasses& how) {
  const TaskSettings& s = m.settings();
  if (update.tensor.alone()) return Ok{};
  if (m.task.joint)
    return not_divided(s, "a loss that compares all rows of a step", "leave the axis out");
  if (shapes.writes)
    return not_divided(s, "generating texts in evaluations",
                       "leave --predict_with_generate or the axis out");
  how.tensor = HONE_TRY(parts_of_weights(m, shapes));
  HONE_TRY(check_rules(s, weights, update));
  for (UpdateWeight& w : weights)
    if (const auto part = how.tensor.weights.find(w.name); part != how.tensor.weights.end()) {
      w.type = part->second.part(w.type);
      w.in_parts = true;
    }
  if (update.share.alone()) update.stage = 0;
  return Ok{};
}

}  // namespace

Result<TensorSplit> parts_of_weights(const TaskModel& m, const RunShapes& shapes) {
  const RunRanks& ranks = *m.settings().ranks;
  if (ranks.parts().alone()) return TensorSplit{};
  const std::vector<BatchShape> train = shapes.train_shapes(m.form);
  const bool trains = !train.empty();
  const Program forward = m.task.program(
      m.config, trains ? train.front() : shapes.eval.shapes.front(), "parts", trains);
  Result<TensorSplit> found =
      find_tensor_split(forward, ranks.parts(), ranks.data().rank * ranks.tensor().ranks);
  if (!found.ok()) return std::move(found.error().at("--mesh " + m.settings().mesh));
  return found;
}

Result<std::vector<RunProgram>> list_programs(const TaskModel& m, const RunShapes& shapes) {
  const TaskSettings& s = m.settings();
  std::vector<RunProgram> programs;
  const TrainingPrecision precision =
      HONE_TRY(training_precision(s, shapes.accumulate, family_of(m.config).safe_in_f16));
  TrainPasses how{precision.products, s.recompute(),       s.offload(),
                  precision.stored,   precision.gradients, precision.saturate};
  how.recompute.bytes = shapes.budgets.train_bytes;
  how.offload.host_lane = m.host_lane;
  how.keeps_narrow = m.keeps_narrow;
  how.fuses_slopes = !shapes.accumulate && shapes.units == 0;
  const std::vector<BatchShape> train = shapes.train_shapes(m.form);
  how.in_bf16 = weights_in_bf16(m.config, s);
  std::vector<UpdateWeight> weights = update_weights(m.config, s.optim_target_modules, how.in_bf16);
  UpdateOptions update;
  if (!train.empty()) {
    update = HONE_TRY(update_options(s));
    if (optimizer_of(s).decomposed) how.offload.host_lane = HostLane::none;
    HONE_TRY(check_targets(weights, s));
    HONE_TRY(check_weight_types(weights, s));
  }
  update.gradients = precision.gradients;
  update.share = s.ranks->shard();
  update.replica = s.ranks->replica();
  update.tensor = s.ranks->parts();
  update.statistics = moved_statistics(m.config);
  how.data = data_axis(update);
  update.stage = static_cast<int>(s.zero_stage);
  HONE_TRY(divide(m, shapes, weights, update, how));
  if (shapes.units > 0) {
    update.split_invariant = true;
    update.units = shapes.units;
    update.stage = std::max(update.stage, 2);
    update.copies = s.ranks->tensor().ranks;
  }
  if (!train.empty() && update.split_invariant) HONE_TRY(refuse_statistics_of_units(m.config));
  if (s.split_invariant > 0) how.division = HONE_TRY(division_of_rows(m, shapes));
  how.sync = s.ranks->data();
  if (!update.share.alone())
    how.sharding = sharding_of(weights, update, s.offload_persistence_threshold);
  keep_measured_whole(m.config, how.sharding);
  for (const auto& [name, shape] : update.statistics) how.sharding.whole.insert(name);
  if (!train.empty()) HONE_TRY(add_copies(how, m, shapes, train[0], update));
  if (!train.empty() && !shapes.budgets.states.all())
    how.offload.homes =
        homes_beside_host(build_update(weights, update), how, shapes.budgets.states);
  if (!train.empty()) add_train_programs(m, shapes, {weights, update, how}, programs);
  for (const BatchShape& shape : shapes.eval.shapes)
    programs.push_back({m.task.program(m.config, shape, program_name("eval", shape), false),
                        forward_pipeline(WeightStorage::f32, how)});
  if (shapes.writes)
    for (const CachedShape& shape : cached_shapes(*shapes.writes))
      programs.push_back({build_cached_program(m.config, shape, cached_name(shape)),
                          forward_pipeline(shapes.writes->weights, {.offload = how.offload,
                                                                    .in_bf16 = how.in_bf16,
                                                                    .sharding = how.sharding,
                                                                    .data = how.data})});
  return programs;
}

RunProgram traced_program(const TaskModel& m, const BatchShape& shape) {
  return {m.task.program(m.config, shape, "trace", true), train_pipeline(false)};
}

PlanMemo::Entry* PlanMemo::find(const RunShapes& shapes) {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& e) { return e.shapes == shapes; });
  return at == entries_.end() ? nullptr : &*at;
}

PlanMemo::Entry& PlanMemo::keep(const RunShapes& shapes, std::vector<Program> programs) {
  if (entries_.size() == kMost) entries_.pop_front();
  return entries_.emplace_back(Entry{shapes, std::move(programs)});
}

Result<std::vector<Program>> run_programs(const TaskModel& m, const RunShapes& shapes,
                                          PassChecks checks) {
  if (m.memo)
    if (const PlanMemo::Entry* known = m.memo->find(shapes)) return known->programs;
  std::vector<Program> programs;
  for (RunProgram& p : HONE_TRY(list_programs(m, shapes))) {
    HONE_TRY(run_passes(p.program, p.passes, {.checks = checks}));
    programs.push_back(std::move(p.program));
  }
  if (m.memo) m.memo->keep(shapes, programs);
  return programs;
}

Recomputed recomputed(std::span<const Program> programs) {
  Recomputed r;
  double clones = 0, all = 0;
  for (const Program& p : programs) {
    const double again = clone_seconds(p, kTypicalCpu);
    if (again == 0) continue;
    clones += again;
    all += seconds_of(p, kTypicalCpu);
    for (const Node& n : p.nodes) r.nodes += n.clone ? 1 : 0;
  }
  if (all > 0) r.share = clones / (all - clones);
  return r;
}

double flops_of(const Program& p) {
  double sum = 0;
  for (const Node& n : p.nodes)
    if (!n.clone) sum += cost_of({p, n}).flops;
  return sum;
}

std::string Recomputed::text() const {
  if (nodes == 0) return "";
  return fmt::format("{} computed again, about {:.0f} % more time",
                     nodes == 1 ? "1 node is" : fmt::format("{} nodes are", nodes), 100 * share);
}

Result<RunPlan> plan_of(const TaskModel& m, const Backend& backend, const RunShapes& shapes) {
  if (m.memo)
    if (const PlanMemo::Entry* known = m.memo->find(shapes); known && known->plan)
      return *known->plan;
  const NullBackend null(&backend);
  const Session session =
      HONE_TRY(Session::compile(HONE_TRY(run_programs(m, shapes, PassChecks::last)), null));
  if (m.memo)
    if (PlanMemo::Entry* known = m.memo->find(shapes)) known->plan = session.plan();
  return session.plan();
}

}  // namespace hone

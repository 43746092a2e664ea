#include "learn/harness/run/task_run.h"

#include <algorithm>
#include <cmath>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/core/held_stop.h"
#include "base/core/log.h"
#include "base/core/memory.h"
#include "base/core/redact.h"
#include "base/core/signals.h"
#include "learn/harness/run/not_finite_rows.h"
#include "learn/models/module_order.h"
#include "learn/pretrained/pissa.h"
#include "learn/pretrained/weights.h"
#include "learn/train/errors.h"
#include "learn/train/ledger.h"

namespace hone {

Status TaskRun::take_lengths(const TakenRows& taken) {
  const std::vector<TokenRows>& axes = taken.data->axes;
  for (size_t a = 0; a < axes.size(); ++a) {
    lengths_[a].clear();
    for (const int64_t row : taken.rows.rows) lengths_[a].push_back(axes[a].length(row));
    HONE_TRY(axes[a].check_unchanged(taken.rows.rows));
  }
  return Ok{};
}

Status TaskRun::plan_rows(const TakenRows& taken, const BatchGrid& grid, StepPlan& plan) {
  HONE_TRY(take_lengths(taken));
  plan_step(lengths_, grid, plan);
  return Ok{};
}

CollatedRows TaskRun::rows_of(const TakenRows& taken, const MicroBatchPlan& batch, int64_t step) {
  rows_.clear();
  for (const int32_t i : batch.rows) rows_.push_back(taken.rows.rows[static_cast<size_t>(i)]);
  return {*taken.data, {rows_, taken.rows.numbers}, step};
}

void TaskRun::run_micro_batch(BoundProgram& program, int64_t step, float scale) {
  const auto rng = program.inputs.get<int64_t>("rng");
  rng[0] = s_.seed;
  rng[1] = step;
  program.inputs.get<float>("scale")[0] = scale;
  session_->run(program.index);
}

double TaskRun::loss_of(const BoundProgram& program) const {
  return static_cast<double>(session_->output<float>(program.index, "loss")[0]);
}

void TaskRun::put_update(BoundProgram& program, const StepUpdate& update, double loss) {
  program.inputs.get<double>("lr")[0] = update.rate;
  program.inputs.get<int64_t>("step")[0] = update.number;
  if (const auto scale = program.inputs.get_if<double>("loss_scale"); !scale.empty())
    scale[0] = update.loss_scale;
  if (!shares_update()) return;
  if (const auto local = program.inputs.get_if<double>("local_loss"); !local.empty())
    local[0] = loss;
  if (in_units())
    std::copy(unit_losses_.begin(), unit_losses_.end(),
              program.inputs.get<double>("local_losses").begin());
  program.inputs.get<double>("stop")[0] = HeldStops::waiting() != 0 ? 1 : 0;
}

Result<StepSums> TaskRun::take_whole_step(const TakenRows& taken, int64_t step,
                                          const StepUpdate& update, float scale, StepSums sums) {
  HONE_BUG_IF(plan_.batches.size() != 1,
              "step {} has {} micro-batches, the run was planned without accumulation", step,
              plan_.batches.size());
  const CollatedRows rows = rows_of(taken, plan_.batches[0], step);
  BoundProgram* program = &step_programs_[plan_.batches[0].shape];
  bool has_more = HONE_TRY(examples_.collate(rows, program->inputs));
  if (has_equal_shapes()) has_more = HONE_TRY(on_any_rank(has_more));
  if (has_more) {
    program = &step_programs_.back();  // the largest, with room for all labels
    const bool more = HONE_TRY(examples_.collate(rows, program->inputs));
    HONE_BUG_IF(more, "step {} has labels that do not fit its program", step);
  }
  put_update(*program, update, 0);
  run_micro_batch(*program, step, scale);
  if (ranks().alone())
    sums.loss = loss_of(*program) / update.loss_scale;
  else
    take_reduced(*program, update.loss_scale, sums);
  if (search_) note_rows(rows, shapes_.train.shapes[plan_.batches[0].shape]);
  if (examples_.after_batch) examples_.after_batch(rows, outputs_of(*session_, program->index));
  sums.grad_norm = session_->output<double>(program->index, "grad_norm")[0];
  return sums;
}

Result<StepSums> TaskRun::take_step(int64_t step, const StepUpdate& update) {
  const double waited = examples_.waited_seconds();
  StepSums sums = HONE_TRY(compute_step(step, update));
  sums.data_seconds += examples_.waited_seconds() - waited;
  return sums;
}

Result<StepSums> TaskRun::compute_step(int64_t step, const StepUpdate& update) {
  const double begin = system_clock().seconds();
  const TakenRows all = HONE_TRY(feed_->rows_of_step(step));
  const double data_seconds = system_clock().seconds() - begin;
  if (examples_.before_step) HONE_TRY(examples_.before_step(*this, step, all.rows));
  const TakenRows taken = HONE_TRY(plan_part(all));
  take_side(step);
  const StepPlan& whole = whole_step();
  const int64_t labels = examples_.normaliser(step, whole, *all.data, all.rows);
  const auto scale = static_cast<float>(1.0 / static_cast<double>(std::max<int64_t>(labels, 1))) *
                     static_cast<float>(update.loss_scale);
  StepSums sums;
  sums.data_seconds = data_seconds;
  sums.tokens = whole.tokens[0];
  for (const int64_t tokens : whole.tokens) sums.all_tokens += tokens;
  sums.rows = whole.rows;
  sums.without_labels = labels == 0;
  if (!step_programs_.empty()) return take_whole_step(taken, step, update, scale, sums);
  // Each rank computes the whole loss, which counts once.
  if (joint_) {
    const double loss = HONE_TRY(run_joint(all, taken, step, scale));
    if (ranks().leads()) sums.loss = loss / update.loss_scale;
  }
  bool first = true;
  std::fill(unit_losses_.begin(), unit_losses_.end(), 0.0);
  for (size_t k = 0; k < plan_.batches.size(); ++k) {
    if (k > 0 && step > 0 && ranks().alone() && stop_requested()) {
      sums.stopped = true;
      feed_->give_up_step();
      return sums;
    }
    CollatedRows rows = rows_of(taken, plan_.batches[k], step);
    for (bool again = true; again; ++rows.pass) {
      BoundProgram& program =
          (first ? train_programs_ : accumulate_programs_)[plan_.batches[k].shape];
      again = HONE_TRY(examples_.collate(rows, program.inputs));
      if (in_units()) put_present(program, k);
      if (joint_) put_gradient(plan_.batches[k], program);
      run_micro_batch(program, step, scale);
      if (!joint_) sums.loss += loss_of(program) / update.loss_scale;
      if (in_units()) keep_unit_loss(k, loss_of(program));
      if (examples_.after_batch) examples_.after_batch(rows, outputs_of(*session_, program.index));
      if (search_) note_rows(rows, shapes_.train.shapes[plan_.batches[k].shape]);
      first = false;
      if (reduces_each_batch()) again = HONE_TRY(on_any_rank(again));
    }
  }
  if (!shares_update() && !std::isfinite(sums.loss)) {
    sums.grad_norm = std::numeric_limits<double>::quiet_NaN();  // no update takes place
    return sums;
  }
  put_update(update_program_, update, sums.loss * update.loss_scale);
  session_->run(update_program_.index);
  if (shares_update()) take_reduced(update_program_, update.loss_scale, sums);
  sums.grad_norm = session_->output<double>(update_program_.index, "grad_norm")[0];
  return sums;
}

Result<int64_t> TaskRun::evaluate_rows(int64_t begin, int64_t end, EvalMetrics& metrics,
                                       const char* title) {
  HONE_TRY(feed_->begin_evaluation(begin, end));
  Progress bar(title ? title : rows_title_, feed_->evaluation_rows());
  bar.update(
      0);  // on a terminal the bar of the training is replaced before the first rows are done
  const HostWork work(ranks().control(), "evaluation", feed_->evaluation_rows());
  const auto loss_text = [&] {  // rows to predict have no loss
    const double loss = metrics.loss();
    return std::isnan(loss) ? std::string() : fmt::format("loss {:.4f}", loss);
  };
  const int64_t done = HONE_TRY(evaluate_begun(metrics, [&](int64_t rows) {
    bar.update(rows, loss_text());
    work.update(rows);
  }));
  if (done >= 0) bar.finish();
  return done;
}

Result<int64_t> TaskRun::evaluate_rows(std::vector<int64_t> rows, EvalMetrics& metrics) {
  if (rows.empty()) return 0;
  feed_->begin_evaluation(std::move(rows));
  return evaluate_begun(metrics, [](int64_t) {});
}

Result<int64_t> TaskRun::evaluate_begun(EvalMetrics& metrics,
                                        FunctionRef<void(int64_t done)> after) {
  const int64_t chunk = shapes_.eval.max_rows * 4, most = chunk * ranks().data().ranks;
  StepPlan plan;
  std::vector<EvalPart> parts;
  int64_t done = 0;
  for (;; after(done)) {
    if (stop_requested()) return -1;
    const TakenRows taken = HONE_TRY(feed_->next_evaluation(most));
    const std::span<const int64_t> rows = taken.rows.rows;
    if (rows.empty()) break;
    parts.clear();
    for (size_t at = 0; at < rows.size(); at += static_cast<size_t>(chunk)) {
      const auto some = rows.subspan(at, std::min(static_cast<size_t>(chunk), rows.size() - at));
      const TakenRows these{taken.data, {some, taken.rows.numbers}};
      HONE_TRY(plan_rows(these, shapes_.eval, plan));
      done += plan.rows;
      for (MicroBatchPlan& batch : plan.batches) {
        if (in_units()) batch.shape = shapes_.eval.shapes.size() - 1;  // with any stage
        parts.push_back({these, std::move(batch)});
      }
    }
    if (ranks().alone()) {
      for (const EvalPart& part : parts) HONE_TRY(evaluate_part(part, metrics));
      continue;
    }
    const auto together = static_cast<size_t>(ranks().data().ranks);
    for (size_t at = 0; at < parts.size(); at += together)
      HONE_TRY(evaluate_parts(std::span(parts).subspan(at, std::min(together, parts.size() - at)),
                              metrics));
  }
  HONE_TRY(check_device());
  return done;
}

Result<OrderedJson> TaskRun::logged() {
  if (!examples_.log_sums) return OrderedJson::object();
  std::vector<double> sums = examples_.log_sums();
  if (!ranks().alone()) {
    const std::vector<Json> all = HONE_TRY(ranks().gather("sums for the log", Json(sums)));
    std::fill(sums.begin(), sums.end(), 0.0);
    for (size_t rank = 0; rank < all.size(); rank += ranks_of_rows())
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += all[rank].at(i).get<double>();
  }
  return examples_.log_values(sums);
}

Status TaskRun::evaluate_part(const EvalPart& part, EvalMetrics& metrics) {
  CollatedRows rows = rows_of(part.rows, part.batch, CollatedRows::kEvaluation);
  BoundProgram& program = eval_programs_[part.batch.shape];
  const Batch outputs = outputs_of(*session_, program.index);
  for (bool again = true; again; ++rows.pass) {
    again = HONE_TRY(examples_.collate(rows, program.inputs));
    session_->run(program.index);
    if (metrics.add(rows, outputs)) continue;
    HONE_TRY(check_device());
    return why_not_finite(program, rows);
  }
  return Ok{};
}

Result<NotFiniteStep> TaskRun::why_not_finite(int64_t step, const StepUpdate& update) {
  search_.emplace();
  session_->find_not_finite(&search_->found);
  const Result<StepSums> again = take_step(step, update);
  session_->find_not_finite(nullptr);
  Search done = std::move(*search_);
  search_.reset();
  if (!again.ok()) return again.error();
  NotFiniteStep why{done.found ? done.found->text() : "", std::move(done.rows)};
  HONE_TRY(add_not_finite_of_ranks(why));
  return why;
}

// Called after the micro-batch with the first value that is not finite.
void TaskRun::note_rows(const CollatedRows& rows, const BatchShape& shape) {
  if (!search_->found || !search_->rows.empty()) return;
  std::vector<int64_t> dimensions;  // of weights
  for (const StateSlot& s : session_->plan().states)
    if (s.role == Role::param && !s.type.shape.empty()) dimensions.push_back(s.type.shape[0]);
  search_->rows = places_of(rows, rows_that_hold(*search_->found, rows, shape, dimensions));
}

Status TaskRun::why_not_finite(BoundProgram& program, const CollatedRows& rows) {
  HONE_TRY(examples_.collate(rows, program.inputs));
  std::optional<NotFinite> found;
  session_->find_not_finite(&found);
  session_->run(program.index);
  session_->find_not_finite(nullptr);
  return Error(err::kNotFinite,
               fmt::format("the model's output in evaluation is not finite; {}",
                           found ? "the first value that is not: " + found->text()
                                 : "no earlier value that is not finite was found"))
      .todo("take a checkpoint from before the training broke");
}

Status TaskRun::check_device() const {
  Status works = session_->check();
  if (works.ok()) return works;
  return std::move(works.error())
      .todo(
          "the model's output is discarded: look at the disk, or name a folder on another one with "
          "--offload_optimizer_nvme_path");
}

Result<OrderedJson> TaskRun::evaluate() {
  if (examples_.evaluate) return examples_.evaluate(*this);
  const auto metrics = examples_.metrics(0);
  const int64_t rows = HONE_TRY(evaluate_rows(0, examples_.evaluated, *metrics));
  return rows < 0 ? OrderedJson::object() : metrics->values(rows);
}

Result<OrderedJson> TaskRun::predict(const std::string& folder) {
  HONE_BUG_IF(!examples_.predict, "a task without rows to predict was let through");
  log_info("{:<11} the test rows", "predicting");
  rows_title_ = "predicting";
  Result<OrderedJson> metrics = examples_.predict(*this, folder);
  rows_title_ = "evaluating";
  return metrics;
}

std::unique_ptr<TrainCallback> TaskRun::callback() {
  return examples_.callback ? examples_.callback(*this) : nullptr;
}

MemoryReport TaskRun::memory() const {
  const MemoryReading now = read_memory();
  int64_t resident = 0, on_device = 0;
  for (const Space space : {Space::device, Space::host})
    if (const Memory* arena = session_->arena(space)) {
      const bool apart = space == Space::device && !backend_->device().host_memory();
      (apart ? on_device : resident) += arena->resident_bytes();
    }
  const int64_t copy = save_copy_ ? save_copy_->bytes() : 0;
  if (save_copy_) resident += save_copy_->resident_bytes();
  return {memory_of(session_->plan(), backend_->spec()) + copy,
          now.rss_anon_bytes + now.rss_shmem_bytes - bytes_before_arena_,
          bytes_before_arena_,
          resident,
          on_device,
          kRuntimeBudget + data_bytes()};
}

Status TaskRun::save_model_files(const std::string& folder) {
  model_.trained.task = task_.name;
  model_.trained.settings = settings_that_decide(described(task_), "answers");
  HONE_TRY(hone::save_model_files(folder, model_, s_.pure_bf16() ? DType::bf16 : DType::f32));
  return examples_.saved(folder);
}

// PiSSA's adapter belongs to what it left of the weights: the finished one is LoRA of the model itself.
Status TaskRun::save_finished_files(const std::string& folder) {
  const std::shared_ptr<const Adapter> trained = model_.config.adapter;
  if (!trained || !trained->first) return save_model_files(folder);
  model_.config.adapter = lora_of_pissa(*trained);
  Status saved = save_model_files(folder);
  model_.config.adapter = trained;
  return saved;
}

std::vector<TensorData> TaskRun::finished_tensors(std::vector<TensorData> weights) {
  const auto& adapter = model_.config.adapter;
  return adapter && adapter->first ? lora_of_pissa(*session_, model_.config, std::move(weights))
                                   : std::move(weights);
}

std::span<std::byte> TaskRun::save_copy() {
  if (!save_copy_) return {};
  return {save_copy_->data(), static_cast<size_t>(save_copy_->bytes())};
}

std::string TaskRun::second_name(const std::string& name) const {
  return hone::second_name(model_.config, name);
}

std::string TaskRun::saved_name(const std::string& name) const {
  return model_.whole ? model_.whole->name_of(name) : name;
}

Result<std::vector<TensorData>> TaskRun::other_tensors() const {
  if (!model_.whole || model_.config.adapter) return std::vector<TensorData>{};
  return model_.whole->others();
}

std::map<std::string, std::vector<std::string>> TaskRun::other_names() const {
  return names_in_modules(model_.config);
}

std::optional<std::vector<TrainTask::NumberedWeight>> TaskRun::numbered_weights() const {
  const auto ordered = weights_in_module_order(model_.config);
  if (!ordered || model_.whole) return {};
  std::vector<NumberedWeight> weights;
  for (const ParamSpec& w : *ordered) weights.push_back({w.name, w.decay});
  return weights;
}

std::vector<std::string> TaskRun::weight_names() const { return saved_weights(model_.config); }

// Transformers' floating_point_ops: 6 x tokens x parameters outside the embeddings. Each value of
// a pixel counts as a token.
double TaskRun::flops_of_step(const StepSums& sums) const {
  return 6.0 * static_cast<double>(sums.tokens * made_->form.row_values) *
         static_cast<double>(parameters_outside_embeddings_);
}

Json TaskRun::fingerprint() const {
  const std::optional<StepCount>& steps = feed_->steps();
  std::vector<size_t> programs;  // programs that decide the weights
  for (const auto* list : {&step_programs_, &train_programs_, &accumulate_programs_})
    for (const BoundProgram& p : *list) programs.push_back(p.index);
  if (!train_programs_.empty()) programs.push_back(update_program_.index);
  if (joint_) {
    for (const BoundProgram& p : joint_->embed) programs.push_back(p.index);
    programs.push_back(joint_->loss.index);
  }
  return {{feed_->streams() ? "stream" : "data", fmt::format("{:016x}", examples_.hash)},
          {"model", fmt::format("{:016x}", fnv1a(model_.config.config.dump()))},
          {"kernels", session_->kernel_manifest(programs)},
          {"machine", backend_->description()},
          {"micro_batch_rows", shapes_.train.max_rows},
          {"split", {{"rows", split_.rows}, {"whole_steps", split_.whole}}},
          {"order", feed_->order_effect()},
          {"total_steps", steps ? steps->total_steps() : 0},
          {"step_rows", steps ? steps->rows_per_step() : 0},
          {"update", update_effect(s_)},
          {"evaluation", evaluation_effect(s_)},
          {"settings", Json(redact_secrets(OrderedJson(ledger_of(described(task_)))))}};
}

}  // namespace hone

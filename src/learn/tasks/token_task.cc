#include "learn/tasks/token_task.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/core/hash.h"
#include "base/core/log.h"
#include "base/core/memory.h"
#include "base/core/signals.h"
#include "learn/pretrained/weights.h"
#include "learn/train/errors.h"
#include "learn/train/ledger.h"

namespace hone {

void TokenTask::put_bytes(size_t program, const char* name, std::span<const std::byte> bytes) {
  auto to = session_->input_bytes(program, name);
  HONE_BUG_IF(to.size() != bytes.size(), "input {} takes {} bytes, not {}", name, to.size(),
              bytes.size());
  std::memcpy(to.data(), bytes.data(), to.size());
}

void TokenTask::put_rows(size_t program, const MicroBatch& batch) {
  put_input(program, "ids", batch.ids);
  put_input(program, "positions", batch.positions);
  put_input(program, "cu_seqlens", batch.cu_seqlens);
  if (session_->has_input(program, "sample_ids"))
    put_input(program, "sample_ids", batch.sample_ids);
}

Status TokenTask::plan_rows(const TakenRows& taken, bool training, StepPlan& plan) {
  lengths_.clear();
  for (const int64_t row : taken.rows) lengths_.push_back(taken.data->length(row));
  HONE_TRY(taken.data->check_unchanged(taken.rows));
  plan_step(lengths_, training ? shapes_.train : shapes_.eval, plan);
  return Ok{};
}

Result<size_t> TokenTask::pack(const TakenRows& taken, const StepPlan& plan, size_t k,
                               bool training, MicroBatch& batch) {
  const BatchGrid& grid = training ? shapes_.train : shapes_.eval;
  HONE_TRY(fill_micro_batch(*taken.data, taken.rows, plan.batches[k], grid, batch));
  // Rows of a stream go by their numbers in the epoch, not by those among the rows at hand.
  for (std::vector<int64_t>* ids : {&batch.sample_ids, &batch.row_ids})
    for (int64_t& id : *ids)
      if (id >= 0) id = taken.number(id);
  return grid.index(plan.batches[k].budget);
}

Result<size_t> TokenTask::fill(const TakenRows& taken, const StepPlan& plan, size_t k, int64_t step,
                               MicroBatch& batch) {
  const size_t place = HONE_TRY(pack(taken, plan, k, step != kEvaluation, batch));
  HONE_TRY(feed_->check_ids(batch.ids));
  prepare(step, batch);
  count_positions(model_.config, batch.ids, batch.positions);
  return place;
}

void TokenTask::run_micro_batch(size_t program, int64_t step, float scale, StepSums& sums) {
  session_->input<int64_t>(program, "rng")[0] = s_.seed;
  session_->input<int64_t>(program, "rng")[1] = step;
  session_->input<float>(program, "scale")[0] = scale;
  session_->run(program);
  sums.loss += static_cast<double>(session_->output<float>(program, "loss")[0]);
}

void TokenTask::put_update(size_t program, int64_t step, double rate) {
  session_->input<double>(program, "lr")[0] = rate;
  session_->input<int64_t>(program, "step")[0] = step + 1;
}

void TokenTask::take_largest_budget(StepPlan& plan, size_t k) {
  plan.batches[k].budget = shapes_.train.largest();
}

Result<StepSums> TokenTask::take_step(int64_t step, double rate) {
  const TakenRows taken = HONE_TRY(feed_->rows_of_step(step));
  HONE_TRY(plan_rows(taken, true, plan_));
  const int64_t labels = normaliser(step, plan_, taken);
  const auto scale = static_cast<float>(1.0 / static_cast<double>(std::max<int64_t>(labels, 1)));
  StepSums sums{0, plan_.tokens, plan_.rows, plan_.label_tokens};
  sums.without_labels = labels == 0;
  if (!step_programs_.empty()) {
    HONE_BUG_IF(plan_.batches.size() != 1,
                "step {} has {} micro-batches, the run was planned without accumulation", step,
                plan_.batches.size());
    size_t place = HONE_TRY(fill(taken, plan_, 0, step, batch_));
    if (!labels_fit(batch_)) {
      take_largest_budget(plan_, 0);
      HONE_TRY(fill(taken, plan_, 0, step, batch_));
      place = step_programs_.size() - 1;
    }
    const size_t program = step_programs_[place];
    put_rows(program, batch_);
    const bool more = put(program, batch_, 0);
    HONE_BUG_IF(more, "step {} has labels that do not fit its program", step);
    put_update(program, step, rate);
    run_micro_batch(program, step, scale, sums);
    sums.grad_norm = session_->output<double>(program, "grad_norm")[0];
    return sums;
  }
  bool first = true;
  for (size_t k = 0; k < plan_.batches.size(); ++k) {
    if (k > 0 && step > 0 && stop_requested()) {
      sums.stopped = true;
      feed_->give_up_step();
      return sums;
    }
    const size_t place = HONE_TRY(fill(taken, plan_, k, step, batch_));
    bool again = true;
    for (int64_t pass = 0; again; ++pass) {
      const size_t program = (first ? train_programs_ : train_add_programs_)[place];
      put_rows(program, batch_);
      again = put(program, batch_, pass);
      run_micro_batch(program, step, scale, sums);
      first = false;
    }
  }
  if (!std::isfinite(sums.loss)) return sums;
  put_update(update_program_, step, rate);
  session_->run(update_program_);
  sums.grad_norm = session_->output<double>(update_program_, "grad_norm")[0];
  return sums;
}

Result<OrderedJson> TokenTask::evaluate() {
  begin_metrics();
  const int64_t chunk = shapes_.eval_rows() * 4;
  Progress bar("evaluating", feed_->evaluation_rows());
  StepPlan plan;
  MicroBatch batch;
  HONE_TRY(feed_->rewind_evaluation());
  int64_t done = 0;
  const auto loss_text = [&] {  // rows to predict have none
    const double loss = loss_so_far();
    return std::isnan(loss) ? std::string() : fmt::format("loss {:.4f}", loss);
  };
  for (;; bar.update(done, loss_text())) {
    if (stop_requested()) return OrderedJson::object();
    const TakenRows taken = HONE_TRY(feed_->next_evaluation(chunk));
    if (taken.rows.empty()) break;
    HONE_TRY(plan_rows(taken, false, plan));
    done += static_cast<int64_t>(taken.rows.size());
    for (size_t k = 0; k < plan.batches.size(); ++k) {
      const size_t program = eval_programs_[HONE_TRY(fill(taken, plan, k, kEvaluation, batch))];
      bool again = true;
      for (int64_t pass = 0; again; ++pass) {
        put_rows(program, batch);
        again = put(program, batch, pass);
        session_->run(program);
        if (!add_metrics(program, batch)) return why_not_finite(program, batch, pass);
      }
    }
  }
  bar.finish();
  return metrics(done);
}

Error TokenTask::why_not_finite(size_t program, const MicroBatch& batch, int64_t pass) {
  put_rows(program, batch);
  put(program, batch, pass);
  std::optional<NotFinite> found;
  session_->find_not_finite(&found);
  session_->run(program);
  session_->find_not_finite(nullptr);
  return Error(err::kNotFinite, fmt::format("what the model gives in evaluation is not finite; {}",
                                            found ? "the first value that is not: " + found->text()
                                                  : "every value before it is finite"))
      .todo("take a checkpoint from before the training broke");
}

bool TokenMetrics::add(const MicroBatch& batch, std::span<const float> nll,
                       std::span<const int32_t> correct, int64_t first) {
  bool finite = true;
  for (int64_t q = 0; q < batch.sequences; ++q) {
    double sum = 0;
    int64_t labels = 0, right = 0;
    for (auto t = static_cast<size_t>(batch.cu_seqlens[static_cast<size_t>(q)]);
         t < static_cast<size_t>(batch.cu_seqlens[static_cast<size_t>(q) + 1]); ++t) {
      if (batch.labels[t] == kIgnoreLabel) continue;
      sum += static_cast<double>(nll[t]);
      right += correct[t];
      ++labels;
    }
    finite = finite && std::isfinite(sum);
    loss.add(batch.row_ids[static_cast<size_t>(q)] - first, sum, labels);
    accuracy.add(right, labels);
  }
  return finite;
}

Result<OrderedJson> TokenTask::predict(const std::string&) {
  return Error(err::kNothingToDo, "the task has no rows to predict")
      .at("--do_predict")
      .todo("leave --do_predict out; hone generate writes texts");
}

OrderedJson TokenMetrics::json(int64_t rows) const {
  OrderedJson m;
  m["accuracy"] = accuracy.value();
  m["loss"] = loss.eval_loss();
  m["loss_per_token"] = loss.eval_loss_per_token();
  m["samples"] = rows;
  m["perplexity"] = perplexity(loss.eval_loss());
  return m;
}

MemoryReport TokenTask::memory() const {
  const MemoryReading now = read_memory();
  int64_t resident = 0;
  for (const Space space : {Space::device, Space::host})
    if (const Memory* arena = session_->arena(space))
      resident += resident_bytes(arena->data(), arena->bytes());
  return {memory_of(session_->plan(), backend_->spec()),
          now.rss_anon_bytes + now.rss_shmem_bytes - bytes_before_arena_, bytes_before_arena_,
          resident};
}

Status TokenTask::save_model_files(const std::string& folder) {
  return hone::save_model_files(folder, model_, DType::f32);
}

std::string TokenTask::second_name(const std::string& name) const {
  return hone::second_name(model_.config, name);
}

std::vector<std::string> TokenTask::weight_names() const {
  std::vector<std::string> names;
  for (const ParamSpec& p : family_of(model_.config).params(model_.config)) names.push_back(p.name);
  return names;
}

// Transformers' floating_point_ops: 6 x tokens x parameters outside the embeddings.
double TokenTask::flops_of_step(const StepSums& sums) const {
  return 6.0 * static_cast<double>(sums.tokens) *
         static_cast<double>(parameters_outside_embeddings_);
}

Json TokenTask::fingerprint() const {
  const std::optional<StepCount>& steps = feed_->steps();
  return {{feed_->streams() ? "stream" : "data", fmt::format("{:016x}", feed_->hash())},
          {"model", fmt::format("{:016x}", fnv1a(model_.config.config.dump()))},
          {"kernels", session_->kernel_manifest()},
          {"machine", backend_->description()},
          {"micro_batch_rows", shapes_.train_rows()},
          {"split", {{"rows", split_.rows}, {"whole_steps", split_.whole}}},
          {"order", feed_->order_effect()},
          {"total_steps", steps ? steps->total_steps() : 0},
          {"update", update_effect(s_)},
          {"evaluation", evaluation_effect(s_)},
          {"settings", ledger_of(s_.described())}};
}

}  // namespace hone

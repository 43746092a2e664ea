// How a task begins: data, the micro-batch that fits, programs, memory, weights, first screen.
#include <algorithm>

#include "base/core/log.h"
#include "base/core/memory.h"
#include "base/core/text.h"
#include "engine/backends/backends.h"
#include "engine/device/errors.h"
#include "learn/data/rows/count_text.h"
#include "learn/tasks/token_task.h"
#include "learn/train/errors.h"

namespace hone {
Status TokenTask::start(Pretrained model, bool from_scratch) {
  model_ = std::move(model);
  backend_ = HONE_TRY(open_backend(s_.backend, {.threads = static_cast<int>(s_.threads)}));
  const ModelConfig& config = model_.config;
  row_tokens_ = s_.row_tokens(config);
  parameters_outside_embeddings_ = parameter_count(config, false);
  log_info("{:<11} {}: {}, {:.1f} million parameters; {}", "model", model_.name,
           config.text("model_type", config.family),
           static_cast<double>(parameter_count(config)) / 1e6, backend_->description());
  if (s_.row_tokens_given() > config.max_positions)
    log_warning("--{} {} is more than the model's {} positions: {} is used", s_.row_tokens_flag(),
                s_.row_tokens_given(), config.max_positions, row_tokens_);
  feed_.emplace(s_, model_, &pool());
  HONE_TRY(read_data());
  return compile(from_scratch);
}

RunShapes TokenTask::shapes_for(int64_t rows, bool whole) const {
  if (s_.streaming)
    return shapes_without_data(s_, row_tokens_, rows, whole, s_.do_train, s_.do_eval);
  RunShapes shapes;
  if (const TokenRows* train = feed_->train()) {
    const StepCount& steps = *feed_->steps();
    const StepRows last = steps.rows_of_step(steps.steps_per_epoch() - 1);
    const int64_t r = std::min(rows, train->size());
    shapes.train = choose_grid(train->lengths(), r, (last.end - last.begin) % r, whole);
    shapes.accumulate = !whole;
  }
  if (const TokenRows* eval = feed_->eval()) {
    const int64_t r = std::min({rows, s_.per_device_eval_batch_size, eval->size()});
    shapes.eval = choose_grid(eval->lengths(), r, eval->size() % r);
  }
  return shapes;
}

Status TokenTask::compile(bool from_scratch) {
  HONE_TRY(check_device_memory(s_));
  const int64_t stream = stream_bytes(s_, row_tokens_), memory = memory_for_arenas(s_) - stream;
  const int64_t wanted =
      s_.do_train ? s_.per_device_train_batch_size : s_.per_device_eval_batch_size;
  std::optional<Split> keep = s_.do_train ? s_.split : std::nullopt;
  if (keep && wanted % keep->rows != 0) keep.reset();  // of another batch
  const auto shapes = [&](int64_t rows, bool whole) { return shapes_for(rows, whole); };
  Fit fit = HONE_TRY(fit_run(s_, model_.config, *backend_, wanted, memory, shapes, keep));
  split_ = {fit.rows, fit.whole};
  if (keep && fit.rows > 0 && split_ != *keep && !s_.allow_other_bits) {
    const RunPlan plan =
        HONE_TRY(plan_of(s_, model_.config, *backend_, shapes(keep->rows, keep->whole)));
    return Error(err::kOtherSplit,
                 fmt::format("the run was trained in micro-batches of {} rows: they need {}, {} "
                             "may be used",
                             keep->rows, format_bytes(memory_of(plan, backend_->spec())),
                             format_bytes(std::max<int64_t>(memory, 0))))
        .at(s_.continued_from)
        .todo(
            "free memory or raise --device_memory; with --allow_other_bits the run continues in "
            "smaller micro-batches");
  }
  for (const auto& [purpose, bytes] : fit.plan.by_purpose())
    if (bytes > 0) log_info("{:<11} {:<14} {:>11}", "memory", purpose, format_bytes(bytes));
  if (stream > 0) log_info("{:<11} {:<14} {:>11}", "memory", "stream", format_bytes(stream));
  for (const Space space : {Space::host, Space::disk})
    if (const int64_t bytes = fit.plan.arena_bytes(space); bytes > 0)
      log_info("{:<11} {:<14} {:>11}", "memory", fmt::format("on {}", name_of(space)),
               format_bytes(bytes));
  log_info("{:<11} {:<14} {:>11}  (of {} that may be used; the runtime itself at most {})",
           "memory", "total", format_bytes(memory_of(fit.plan, backend_->spec())),
           format_bytes(std::max<int64_t>(memory, 0)), format_bytes(kRuntimeBudget));
  if (fit.rows == 0)
    return Error(err::kDoesNotFit,
                 fmt::format("the run needs {} with one row of {} tokens, {} may be used",
                             format_bytes(memory_of(fit.plan, backend_->spec())), row_tokens_,
                             format_bytes(std::max<int64_t>(memory, 0))))
        .todo(fmt::format("use a smaller --{} or model, or a machine with more memory; hone plan "
                          "shows what a run needs",
                          s_.row_tokens_flag()));
  log_info("{:<11} {} of at most {}{}", "micro-batch", count_of(fit.rows, "row"),
           count_of(row_tokens_, "token"),
           fit.rows < wanted
               ? fmt::format(" ({} of them make the {} rows of a batch)", wanted / fit.rows, wanted)
               : "");
  shapes_ = shapes_for(split_.rows, split_.whole);
  session_ =
      HONE_TRY(Session::compile(HONE_TRY(run_programs(s_, model_.config, shapes_)), *backend_));
  find_programs();
  const MemoryReading before = read_memory();
  bytes_before_arena_ = before.rss_anon_bytes + before.rss_shmem_bytes;
  if (Status taken = session_->allocate(s_.offload_folder()); !taken.ok())
    return std::move(taken.error())
        .todo(
            taken.error().code() == std::string_view(err::kNoDisk.id)
                ? "free space, or name a folder on another disk with --offload_optimizer_nvme_path"
                : fmt::format(
                      "free memory, or use a smaller --per_device_train_batch_size or --{}; "
                      "hone plan shows what fits",
                      s_.row_tokens_flag()));
  if (from_scratch) {
    init_weights(*session_, model_.config, static_cast<uint64_t>(s_.seed));
    fill_constants(*session_, model_.config);
  } else {
    // A body that was trained alone, or with another head, gets a new head to be trained.
    NewHead head{static_cast<uint64_t>(s_.seed), s_.replaces_head()};
    HONE_TRY(load_weights(*session_, model_, nullptr, s_.do_train ? &head : nullptr));
    if (const std::string text = new_weights_text(model_, head); !text.empty())
      log_warning("{}", text);
  }
  return Ok{};
}

void TokenTask::find_programs() {
  auto find = [&](const char* kind, const BatchShape& shape) {
    return session_->program_index(program_name(kind, shape));
  };
  for (const BatchShape& shape : shapes_.train_shapes(s_)) {
    if (!shapes_.accumulate) {
      step_programs_.push_back(find("step", shape));
      continue;
    }
    train_programs_.push_back(find("train", shape));
    train_add_programs_.push_back(find("train_add", shape));
  }
  if (!train_programs_.empty()) update_program_ = session_->program_index("update");
  for (const BatchShape& shape : shapes_.eval_shapes())
    eval_programs_.push_back(find("eval", shape));
  reserve(shapes_);
  // The most that a step can need, so that no later step allocates.
  if (!s_.do_train) return;
  const auto most = static_cast<size_t>(feed_->steps()->rows_per_step());
  feed_->reserve();
  reserve_steps(most, plan_, batch_);
}

void TokenTask::reserve_steps(size_t rows, StepPlan& plan, MicroBatch& batch) {
  lengths_.reserve(rows);
  reserve_step(rows, shapes_.train, plan, batch);
}

}  // namespace hone

#include "learn/tasks/clm.h"

#include <algorithm>
#include <cstring>

#include "base/core/log.h"
#include "base/core/process.h"
#include "base/store/store.h"
#include "engine/backends/cpu/backend.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

std::vector<int64_t> lengths_of(const TokenRows& rows) {
  std::vector<int64_t> lengths(static_cast<size_t>(rows.size()));
  for (int64_t i = 0; i < rows.size(); ++i) lengths[static_cast<size_t>(i)] = rows.length(i);
  return lengths;
}

// FNV-1a.
constexpr uint64_t kHashStart = 0xcbf29ce484222325ull;
uint64_t hash_on(uint64_t h, uint64_t x) { return (h ^ x) * 0x100000001b3ull; }
uint64_t text_hash(std::string_view text) {
  uint64_t h = kHashStart;
  for (unsigned char c : text) h = hash_on(h, c);
  return h;
}
std::string bytes_text(int64_t bytes) {
  if (bytes >= int64_t{1} << 30)
    return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1 << 30));
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

// Rows of a stream go by their numbers in the epoch, not by those among the rows at hand.
void number_rows(std::span<const int64_t> numbers, MicroBatch& batch) {
  for (std::vector<int64_t>* ids : {&batch.sample_ids, &batch.row_ids})
    for (int64_t& id : *ids)
      if (id >= 0) id = numbers[static_cast<size_t>(id)];
}

}  // namespace

Status ClmTask::check_ids(std::span<const int32_t> ids) const {
  const auto limit = static_cast<uint32_t>(model_.config.vocab);
  for (const int32_t id : ids)
    if (static_cast<uint32_t>(id) >= limit)
      return Error(err::kNoData,
                   fmt::format("token {} is outside the model's vocabulary of {}", id, limit))
          .todo("use the tokenizer that belongs to the model");
  return Ok{};
}

Status ClmTask::read_data() {
  std::vector<std::string> notes;
  const CausalFiles files = HONE_TRY(causal_files(s_, model_, block_, notes));
  for (const std::string& note : notes) log_info("{:<11} {}", "data", note);
  if (s_.streaming) return open_streams(files);
  CausalSplits splits = HONE_TRY(load_causal(files, tokenize_with(model_, pool_.get())));
  for (const std::string& note : splits.notes) log_info("{:<11} {}", "data", note);
  for (const TokenRows* rows : {&splits.train.rows, &splits.eval.rows})
    if (!rows->is_mapped())
      for (int64_t i = 0; i < rows->size(); ++i) HONE_TRY(check_ids(rows->row(i)));
  if (s_.do_train) {
    train_ = std::make_unique<TokenRows>(std::move(splits.train.rows));
    data_hash_ = train_->hash();
    HONE_TRY(train_->check_unchanged());
    HONE_TRY(plan_steps(train_->size()));
    const auto seed = static_cast<uint64_t>(s_.data_seed.value_or(s_.seed));
    order_ = s_.shuffle ? RowOrder::shuffled(train_->size(), seed)
                        : RowOrder::sequential(train_->size());
  }
  if (s_.do_eval) eval_ = std::make_unique<TokenRows>(std::move(splits.eval.rows));
  return Ok{};
}

Status ClmTask::plan_steps(int64_t rows) {
  train_rows_ = rows;
  StepOptions o{rows,
                s_.per_device_train_batch_size,
                s_.gradient_accumulation_steps,
                s_.num_train_epochs,
                s_.max_steps,
                s_.dataloader_drop_last};
  steps_ = HONE_TRY(StepCount::make(o));
  return Ok{};
}

// Nobody knows how long a stream is: as Transformers does, all steps are one epoch of the log.
Status ClmTask::open_streams(const CausalFiles& files) {
  if (s_.do_train && s_.max_steps < 1)
    return Error(err::kNoData, "--streaming does not know how many rows there are")
        .todo("say how many steps to train: --max_steps N");
  if (s_.fraction_of_train_data < 1)
    return Error(err::kNoData,
                 "--fraction_of_train_data needs the number of rows, which "
                 "--streaming does not know")
        .todo("take the first rows by --max_train_samples");
  if (!files.shard_settings.is_null())
    return Error(err::kNoData, "prepared shards are mapped, which takes no memory already")
        .todo("leave --streaming out");
  std::vector<std::string> notes;
  const std::vector<CausalPart> parts = HONE_TRY(find_parts(files, notes));
  for (const std::string& note : notes) log_info("{:<11} {}", "data", note);
  for (const CausalPart& part : parts) {
    const bool train = part.split == "train";
    StreamOptions o;
    o.seed = static_cast<uint64_t>(s_.data_seed.value_or(s_.seed));
    o.shuffle = train && s_.shuffle;
    o.window_rows = o.shuffle ? s_.buffer_size : 1;
    o.max_rows = train ? s_.max_train_samples : s_.max_eval_samples;
    (train ? train_stream_ : eval_stream_) =
        HONE_TRY(TokenStream::open(part, tokenize_with(model_, pool_.get()), o));
    OrderedJson sources = OrderedJson::array();
    for (const std::string& file : part.files)
      sources.push_back(OrderedJson::array({file, HONE_TRY(file_store().bytes(file))}));
    if (train)
      data_hash_ = text_hash(sources.dump() + shard_settings(s_, model_, part.causal, true).dump());
    log_info("{:<11} {}: streamed{}", "data", part.split,
             o.shuffle ? fmt::format(", {} rows at a time in random order", o.window_rows) : "");
  }
  if (s_.do_train)
    HONE_TRY(
        plan_steps(s_.max_steps * s_.per_device_train_batch_size * s_.gradient_accumulation_steps));
  return Ok{};
}

Json ClmTask::data_place() const {
  if (!train_stream_) return nullptr;
  return (step_given_up_ ? *step_begin_ : train_stream_->place()).to_json();
}

Status ClmTask::go_to(const Json& place, const std::string& name) {
  if (!train_stream_) return Ok{};
  if (place.is_null())
    return Error(err::kResumeMismatch, "the checkpoint is of a run without --streaming")
        .at(name)
        .todo("go on without --streaming, or give another --output_dir");
  return train_stream_->go_to(HONE_TRY(stream_place_from_json(place, name)));
}

// The rows of a step: rows_ holds their indices in the result.
Result<TokenRows*> ClmTask::rows_of_step(int64_t step) {
  rows_.clear();
  if (!train_stream_) {
    const StepRows at = steps_->rows_of_step(step);
    for (int64_t i = at.begin; i < at.end; ++i) rows_.push_back(order_->index(at.epoch, i));
    return train_.get();
  }
  // A step is made again when something in it was not finite.
  if (step == stream_step_) HONE_TRY(train_stream_->go_to(*step_begin_));
  stream_step_ = step;
  step_begin_ = train_stream_->place();
  for (int tries = 0; tries < 2 && rows_.empty(); ++tries) {
    if (tries > 0) HONE_TRY(train_stream_->next_epoch());
    HONE_TRY(train_stream_->take(steps_->rows_per_step(), stream_rows_, numbers_));
    auto rows = static_cast<int64_t>(numbers_.size());
    if (s_.dataloader_drop_last) rows -= rows % s_.per_device_train_batch_size;
    for (int64_t i = 0; i < rows; ++i) rows_.push_back(i);
  }
  if (rows_.empty())
    return Error(err::kNoData,
                 "--dataloader_drop_last leaves no row: the data are fewer than one batch")
        .todo("use a smaller --per_device_train_batch_size");
  return &stream_rows_;
}

ClmShapes ClmTask::shapes_for(int64_t rows) const {
  if (s_.streaming) return block_shapes(s_, block_, rows, s_.do_train, s_.do_eval);
  ClmShapes shapes;
  if (train_) {
    const StepRows last = steps_->rows_of_step(steps_->steps_per_epoch() - 1);
    shapes.train = choose_grid(lengths_of(*train_), rows, (last.end - last.begin) % rows);
    shapes.accumulate =
        s_.packing || s_.gradient_accumulation_steps > 1 || rows < s_.per_device_train_batch_size;
  }
  if (eval_) {
    const int64_t r = std::min(rows, s_.per_device_eval_batch_size);
    shapes.eval = choose_grid(lengths_of(*eval_), r, eval_->size() % r);
  }
  return shapes;
}

Status ClmTask::compile(bool from_scratch) {
  const int64_t stream = stream_bytes(s_, block_), memory = memory_for_arenas(s_) - stream;
  const int64_t wanted =
      s_.do_train ? s_.per_device_train_batch_size : s_.per_device_eval_batch_size;
  Fit fit = HONE_TRY(fit_clm(s_, model_.config, *backend_, *pool_, wanted, memory,
                             [&](int64_t rows) { return shapes_for(rows); }));
  for (const auto& [purpose, bytes] : fit.plan.by_purpose())
    if (bytes > 0) log_info("{:<11} {:<14} {:>11}", "memory", purpose, bytes_text(bytes));
  if (stream > 0) log_info("{:<11} {:<14} {:>11}", "memory", "stream", bytes_text(stream));
  log_info("{:<11} {:<14} {:>11}  (of {} that may be used; the runtime itself at most {})",
           "memory", "total", bytes_text(fit.plan.arena_bytes()),
           bytes_text(std::max<int64_t>(memory, 0)), bytes_text(kRuntimeBudget));
  if (fit.rows == 0)
    return Error(err::kDoesNotFit,
                 fmt::format("the run needs {} with one row of {} tokens, {} may be used",
                             bytes_text(fit.plan.arena_bytes()), block_,
                             bytes_text(std::max<int64_t>(memory, 0))))
        .todo(
            "use a smaller --block_size or model, or a machine with more memory; hone plan shows "
            "what a run needs");
  log_info("{:<11} {} rows of at most {} tokens{}; the largest that fits: {} rows", "micro-batch",
           fit.rows, block_,
           fit.rows < wanted
               ? fmt::format(" ({} of them make the {} rows of a batch)", wanted / fit.rows, wanted)
               : "",
           fit.largest);
  shapes_ = shapes_for(fit.rows);
  session_ = HONE_TRY(
      Session::compile(HONE_TRY(clm_programs(s_, model_.config, shapes_)), *backend_, *pool_));
  find_programs();
  const MemoryReading before = read_memory();
  bytes_before_arena_ = before.rss_anon_bytes + before.rss_shmem_bytes;
  HONE_TRY(session_->allocate());
  if (from_scratch) {
    init_weights(*session_, model_.config, static_cast<uint64_t>(s_.seed));
    fill_constants(*session_, model_.config);
  } else {
    HONE_TRY(load_weights(*session_, model_));
  }
  return Ok{};
}

void ClmTask::find_programs() {
  auto find = [&](const char* kind, int64_t budget) {
    return session_->program_index(fmt::format("{}.{}", kind, budget));
  };
  for (int64_t budget : shapes_.train.budgets) {
    train_programs_.push_back(find("train", budget));
    if (shapes_.accumulate) train_add_programs_.push_back(find("train_add", budget));
  }
  for (int64_t budget : shapes_.eval.budgets) eval_programs_.push_back(find("eval", budget));
  // The most that a step can need, so that no later step allocates.
  if (!s_.do_train) return;
  const auto most = static_cast<size_t>(steps_->rows_per_step());
  rows_.reserve(most);
  lengths_.reserve(most);
  reserve_step(most, shapes_.train, plan_, batch_);
}

MemoryReport ClmTask::memory() const {
  const MemoryReading now = read_memory();
  return {session_->plan().arena_bytes(),
          now.rss_anon_bytes + now.rss_shmem_bytes - bytes_before_arena_, bytes_before_arena_};
}

std::string MemoryReport::text() const {
  return fmt::format("planned {}, measured {}; the runtime {} of {}", bytes_text(planned_bytes),
                     bytes_text(measured_bytes), bytes_text(runtime_bytes),
                     bytes_text(kRuntimeBudget));
}

Result<std::unique_ptr<ClmTask>> ClmTask::make(const ClmSettings& s, Pretrained model,
                                               bool from_scratch) {
  std::unique_ptr<ClmTask> task(new ClmTask(s));
  task->model_ = std::move(model);
  task->pool_ = s.threads > 0 ? std::make_unique<ThreadPool>(static_cast<int>(s.threads))
                              : std::make_unique<ThreadPool>();
  task->backend_ = make_cpu_backend(task->pool_->size());
  const ModelConfig& config = task->model_.config;
  task->block_ = block_size_of(s, config);
  for (const ParamSpec& p : family_of(config).params(config)) {
    const bool embedding = p.name.ends_with("wte.weight") || p.name.ends_with("wpe.weight") ||
                           p.name.ends_with("embed_tokens.weight");
    if (!embedding) task->parameters_outside_embeddings_ += Type{DType::f32, p.shape}.count();
  }
  log_info("{:<11} {}: {}, {:.1f} million parameters; {}", "model", task->model_.name,
           config.text("model_type", config.family),
           static_cast<double>(parameter_count(config)) / 1e6, task->backend_->description());
  if (s.block_size > config.max_positions)
    log_warning("--block_size {} is more than the model's {} positions: {} is used", s.block_size,
                config.max_positions, task->block_);
  HONE_TRY(task->read_data());
  HONE_TRY(task->compile(from_scratch));
  return task;
}

void ClmTask::put_inputs(size_t program, const MicroBatch& batch) {
  auto put = [&](const char* name, const auto& v) {
    auto to = session_->input_bytes(program, name);
    HONE_BUG_IF(to.size() != v.size() * sizeof(v[0]), "input {} takes {} bytes, not {}", name,
                to.size(), v.size() * sizeof(v[0]));
    std::memcpy(to.data(), v.data(), to.size());
  };
  put("ids", batch.ids);
  put("labels", batch.labels);
  put("positions", batch.positions);
  put("cu_seqlens", batch.cu_seqlens);
  if (session_->has_input(program, "sample_ids")) put("sample_ids", batch.sample_ids);
}

Result<StepSums> ClmTask::gradients(int64_t step) {
  const TokenRows& data = *HONE_TRY(rows_of_step(step));
  lengths_.clear();
  for (const int64_t row : rows_) lengths_.push_back(data.length(row));
  HONE_TRY(data.check_unchanged(rows_));
  plan_step(lengths_, shapes_.train, plan_);
  StepSums sums{0, plan_.tokens, plan_.rows};
  for (size_t k = 0; k < plan_.batches.size(); ++k) {
    if (k > 0 && step > 0 && stop_requested()) {
      sums.stopped = step_given_up_ = true;
      break;
    }
    const MicroBatchPlan& micro = plan_.batches[k];
    HONE_TRY(fill_micro_batch(data, rows_, micro, shapes_.train, batch_));
    if (train_stream_) number_rows(numbers_, batch_);
    HONE_TRY(check_ids(batch_.ids));
    HONE_BUG_IF(k > 0 && train_add_programs_.empty(),
                "step {} has {} micro-batches, the run was planned without accumulation", step,
                plan_.batches.size());
    const size_t program =
        (k == 0 ? train_programs_ : train_add_programs_)[shapes_.train.index(micro.budget)];
    put_inputs(program, batch_);
    session_->input<int64_t>(program, "rng")[0] = s_.seed;
    session_->input<int64_t>(program, "rng")[1] = step;
    session_->input<float>(program, "scale")[0] =
        static_cast<float>(1.0 / static_cast<double>(std::max<int64_t>(plan_.label_tokens, 1)));
    session_->run(program);
    sums.loss += static_cast<double>(session_->output<float>(program, "loss")[0]);
  }
  return sums;
}

Result<OrderedJson> ClmTask::evaluate() {
  EvalLoss loss(s_.per_device_eval_batch_size);
  Accuracy accuracy;
  const int64_t chunk = shapes_.eval.max_rows * 4;
  Progress bar("evaluating", eval_ ? eval_->size() : 0);
  std::vector<int64_t> rows, lengths, numbers;
  TokenRows streamed;
  const TokenRows& data = eval_ ? *eval_ : streamed;
  MicroBatch batch;
  if (eval_stream_) HONE_TRY(eval_stream_->rewind());
  int64_t done = 0;
  for (;; bar.update(done, fmt::format("loss {:.4f}", loss.eval_loss_per_token()))) {
    if (stop_requested()) return OrderedJson::object();
    rows.clear();
    lengths.clear();
    if (eval_stream_) HONE_TRY(eval_stream_->take(chunk, streamed, numbers));
    const int64_t end = eval_stream_ ? streamed.size() : std::min(done + chunk, eval_->size());
    for (int64_t i = eval_stream_ ? 0 : done; i < end; ++i) {
      rows.push_back(i);
      lengths.push_back(data.length(i));
    }
    if (rows.empty()) break;
    HONE_TRY(data.check_unchanged(rows));
    done += static_cast<int64_t>(rows.size());
    for (const MicroBatchPlan& micro : plan_step(lengths, shapes_.eval).batches) {
      HONE_TRY(fill_micro_batch(data, rows, micro, shapes_.eval, batch));
      if (eval_stream_) number_rows(numbers, batch);
      HONE_TRY(check_ids(batch.ids));
      const size_t program = eval_programs_[shapes_.eval.index(micro.budget)];
      put_inputs(program, batch);
      session_->run(program);
      auto nll = session_->output<float>(program, "nll");
      auto correct = session_->output<int32_t>(program, "correct");
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
        loss.add(batch.row_ids[static_cast<size_t>(q)], sum, labels);
        accuracy.add(right, labels);
      }
    }
  }
  bar.finish();
  OrderedJson m;
  m["accuracy"] = accuracy.value();
  m["loss"] = loss.eval_loss();
  m["loss_per_token"] = loss.eval_loss_per_token();
  m["samples"] = done;
  m["perplexity"] = perplexity(loss.eval_loss());
  return m;
}

Status ClmTask::save_model_files(const std::string& folder) {
  return hone::save_model_files(folder, model_, DType::f32);
}

std::vector<std::string> ClmTask::weight_names() const {
  std::vector<std::string> names;
  for (const ParamSpec& p : family_of(model_.config).params(model_.config)) names.push_back(p.name);
  return names;
}

// Transformers' floating_point_ops: 6 x tokens x parameters outside the embeddings.
double ClmTask::flops_of_step(const StepSums& sums) const {
  return 6.0 * static_cast<double>(sums.tokens) *
         static_cast<double>(parameters_outside_embeddings_);
}

Json ClmTask::fingerprint() const {
  return {
      {"data", fmt::format("{:016x}", data_hash_)},
      {"model", fmt::format("{:016x}", text_hash(model_.config.config.dump()))},
      {"kernels", session_->kernel_manifest()},
      {"machine", backend_->description()},
      {"micro_batch_rows", shapes_.train.max_rows},
      {"batch_rows", s_.per_device_train_batch_size},
      {"accumulation", s_.gradient_accumulation_steps},
      {"seed", s_.seed},
      {"data_seed", s_.data_seed.value_or(s_.seed)},
      {"shuffle", s_.shuffle},
      {"learning_rate", s_.learning_rate},
      {"schedule",
       {s_.lr_scheduler_type, s_.lr_scheduler_kwargs, s_.warmup_steps, s_.warmup_ratio}},
      {"optimizer",
       {s_.optim, s_.optim_args, s_.adam_beta1, s_.adam_beta2, s_.adam_epsilon, s_.weight_decay}},
      {"max_grad_norm", s_.max_grad_norm},
      {"label_smoothing", s_.label_smoothing_factor},
      {"bf16", s_.bf16},
      {"total_steps", steps_ ? steps_->total_steps() : 0}};
}

}  // namespace hone

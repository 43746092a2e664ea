#include "learn/train/trainer.h"

#include <array>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/core/log.h"
#include "base/core/process.h"
#include "learn/checkpoint/output_dir.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "learn/train/errors.h"
#include "learn/train/update.h"

namespace hone {
namespace {

using SteadyClock = std::chrono::steady_clock;
double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}
double round_to(double x, double digits) { return std::round(x * digits) / digits; }

TensorData tensor_of(Session& s, const std::string& state, const std::string& name) {
  return {name, s.state_slot(state).type, s.state(state), {}};
}

Status read_into(const WeightSource& from, const std::string& name, Session& s,
                 const std::string& state, const std::string& checkpoint) {
  const TensorInfo* info = from.find(name);
  const Type& type = s.state_slot(state).type;
  if (!info || info->type.shape != type.shape)
    return Error(err::kResumeMismatch,
                 info ? fmt::format("the checkpoint's '{}' is {}, the model's {}", name,
                                    info->type.text(), type.text())
                      : fmt::format("the checkpoint has no '{}'", name))
        .at(checkpoint)
        .todo(
            "continue with the model that the checkpoint is of, or begin anew with "
            "--overwrite_output_dir");
  return from.read(name, DType::f32, s.state(state));
}

// Names that keep optimizer.safetensors readable by weight.
std::string first_name(const std::string& weight) { return "exp_avg." + weight; }
std::string second_name(const std::string& weight) { return "exp_avg_sq." + weight; }

}  // namespace

Result<Schedule> make_schedule(const TrainSettings& s, int64_t total_steps) {
  return Schedule::make({s.lr_scheduler_type, s.learning_rate,
                         resolve_warmup(s.warmup_steps, s.warmup_ratio, total_steps), total_steps,
                         s.lr_scheduler_kwargs});
}

Trainer::Trainer(const TrainSettings& settings, TrainTask& task, Schedule schedule)
    : s_(settings), task_(task), schedule_(std::move(schedule)) {}

Result<TrainStart> Trainer::find_start(const TrainSettings& s) {
  const std::string& asked = s.resume_from_checkpoint;
  const bool newest = asked == "true" || asked == "True",
             never = asked == "false" || asked == "False";
  OutputDir dir = HONE_TRY(classify_output_dir(s.output_dir));
  if (dir.kind == OutputDirKind::foreign_files && !s.overwrite_output_dir)
    return Error(err::kOutputFolderTaken, fmt::format("the folder '{}' holds other files: {}",
                                                      s.output_dir, fmt::join(dir.foreign, ", ")))
        .at("--output_dir " + s.output_dir)
        .todo(
            "name another folder, or use --overwrite_output_dir (the files stay, those of the same "
            "name are replaced)");
  if (dir.kind != OutputDirKind::absent && dir.kind != OutputDirKind::foreign_files) {
    // A checkpoint that was being replaced when its process was killed comes back.
    RunLock lock = HONE_TRY(RunLock::take(s.output_dir));
    if (!HONE_TRY(clean_leftovers(s.output_dir)).empty())
      dir = HONE_TRY(classify_output_dir(s.output_dir));
  }
  TrainStart start;
  if (!asked.empty() && !newest && !never) {
    if (!HONE_TRY(file_store().exists(asked)))
      return Error(err::kNoCheckpoint, fmt::format("there is no checkpoint '{}'", asked))
          .at("--resume_from_checkpoint " + asked)
          .todo("name a folder checkpoint-<step>, or leave the flag out");
    const CheckpointInfo info = HONE_TRY(inspect_checkpoint(asked));
    start.checkpoint = info.path;
    return start;
  }
  for (const CheckpointInfo& c : dir.checkpoints) {
    if (s.overwrite_output_dir || never)
      start.discard.push_back(c.path);
    else if (c.resumable && start.checkpoint.empty())
      start.checkpoint = c.path;
  }
  if (newest && start.checkpoint.empty())
    return Error(err::kNoCheckpoint,
                 fmt::format("the folder '{}' holds no checkpoint to continue from", s.output_dir))
        .at("--resume_from_checkpoint " + asked)
        .todo(
            "leave the flag out: a run continues from its newest checkpoint by itself when there "
            "is one");
  start.finished = dir.kind == OutputDirKind::finished && !s.overwrite_output_dir && !never;
  if (start.finished) start.ended = dir.run;
  return start;
}

Result<bool> Trainer::begin(const TrainStart& start) {
  discard_ = start.discard;
  if (!start.checkpoint.empty()) HONE_TRY(resume(start.checkpoint));
  if (!start.finished) return false;
  if (start.checkpoint.empty()) {
    const Json now = task_.fingerprint();
    for (const auto& [key, value] : now.items())
      if (key != "machine" && key != "kernels" && key != "micro_batch_rows" &&
          start.ended.is_object() && start.ended.contains(key) && start.ended[key] != value)
        return Error(err::kOutputFolderTaken,
                     fmt::format("a run with another '{}' ended in '{}': {} then, {} now", key,
                                 s_.output_dir, start.ended[key].dump(), value.dump()))
            .at("--output_dir " + s_.output_dir)
            .todo("name another folder, or begin anew with --overwrite_output_dir");
  } else if (done_ < task_.steps().total_steps()) {
    return false;  // the command asks for more steps than that run
  }
  log_info(
      "{:<11} the run in '{}' has ended after step {}: nothing is left to train "
      "(--overwrite_output_dir begins anew, a larger --num_train_epochs or --max_steps goes on)",
      "finished", s_.output_dir, std::max(done_, task_.steps().total_steps()));
  return true;
}

Status Trainer::resume(const std::string& checkpoint) {
  ResumeState from = HONE_TRY(open_checkpoint(checkpoint));
  if (from.state.is_null() || !from.weights || !from.optimizer)
    return Error(err::kResumeMismatch,
                 "the checkpoint has weights but no optimizer state, so the run cannot be "
                 "continued from it")
        .at(checkpoint)
        .todo("begin a new run from its weights: --model_name_or_path " + checkpoint);
  Session& s = task_.session();
  for (const std::string& w : task_.weight_names()) {
    HONE_TRY(read_into(*from.weights, w, s, w, checkpoint));
    HONE_TRY(read_into(*from.optimizer, first_name(w), s, first_moment_name(w), checkpoint));
    HONE_TRY(read_into(*from.optimizer, second_name(w), s, second_moment_name(w), checkpoint));
  }
  const Json& state = from.state;
  try {
    done_ = state.at("step").get<int64_t>();
    loss_.restore({state.at("loss").at("sum"), state.at("loss").at("total"),
                   state.at("loss").at("steps"), state.at("loss").at("total_steps")});
    flops_ = state.at("total_flos");
    tokens_seen_ = state.at("tokens_seen");
    last_evaluated_ = state.at("last_evaluated");
    evaluation_due_ = state.value("evaluation_due", false);
    const Json now = task_.fingerprint();
    for (const auto& [key, value] : state.at("run").items())
      if (now.contains(key) && now[key] != value)
        log_warning(
            "resume: '{}' was {} and is {} now: the bits will differ from those of an "
            "uninterrupted run",
            key, value.dump(), now[key].dump());
  } catch (const Json::exception& e) {
    return Error(err::kResumeMismatch,
                 fmt::format("the checkpoint's state cannot be read: {}", e.what()))
        .at(checkpoint);
  }
  if (from.trainer_state.contains("log_history")) history_ = from.trainer_state["log_history"];
  last_saved_ = done_;
  log_info("{:<11} from {} (step {} of {})", "continue", checkpoint, done_,
           task_.steps().total_steps());
  return Ok{};
}

// An interval of settings as whole steps; 0: never.
int64_t Trainer::steps_of(double interval) const {
  if (interval <= 0) return 0;
  const double total = static_cast<double>(task_.steps().total_steps());
  return std::max<int64_t>(
      1, static_cast<int64_t>(interval < 1 ? std::ceil(interval * total) : interval));
}

bool Trainer::every(double interval, int64_t step) const {
  const int64_t steps = steps_of(interval);
  return steps > 0 && step % steps == 0;
}

// As Transformers writes it: keys sorted, indented by two.
std::string Trainer::state_text() const {
  Json j;
  j["best_global_step"] = nullptr;
  j["best_metric"] = nullptr;
  j["best_model_checkpoint"] = nullptr;
  j["epoch"] = task_.steps().epoch_after(done_);
  j["eval_steps"] = steps_of(s_.eval_steps > 0 ? s_.eval_steps : s_.logging_steps);
  j["global_step"] = done_;
  j["is_hyper_param_search"] = false;
  j["is_local_process_zero"] = true;
  j["is_world_process_zero"] = true;
  j["log_history"] = history_;
  j["logging_steps"] = steps_of(s_.logging_steps);
  j["max_steps"] = task_.steps().total_steps();
  j["num_input_tokens_seen"] = tokens_seen_;
  j["num_train_epochs"] = task_.steps().epochs();
  j["save_steps"] = steps_of(s_.save_steps);
  j["stateful_callbacks"] = OrderedJson::object();
  j["total_flos"] = flops_;
  j["train_batch_size"] = s_.per_device_train_batch_size;
  j["trial_name"] = nullptr;
  j["trial_params"] = nullptr;
  return dump_json(j, {.indent = 2}) + "\n";
}

Status Trainer::save_checkpoint() {
  if (last_saved_ == done_) return Ok{};
  Session& s = task_.session();
  CheckpointWriter w = HONE_TRY(CheckpointWriter::begin(s_.output_dir, done_));
  HONE_TRY(task_.save_model_files(w.folder()));
  std::vector<TensorData> weights, moments;
  for (const std::string& name : task_.weight_names()) {
    weights.push_back(tensor_of(s, name, name));
    moments.push_back(tensor_of(s, first_moment_name(name), first_name(name)));
    moments.push_back(tensor_of(s, second_moment_name(name), second_name(name)));
  }
  HONE_TRY(w.add_tensors("model", weights));
  HONE_TRY(w.add_file(kTrainerStateFile, state_text()));
  if (!s_.save_only_model) {
    HONE_TRY(w.add_tensors(kOptimizerStem, moments));
    const TrainLoss::State l = loss_.state();
    Json state{
        {"step", done_},
        {"cursor", Json::parse(cursor_after(task_.steps(), done_).to_json())},
        {"loss",
         {{"sum", l.sum}, {"total", l.total}, {"steps", l.steps}, {"total_steps", l.total_steps}}},
        {"total_flos", flops_},
        {"tokens_seen", tokens_seen_},
        {"last_evaluated", last_evaluated_},
        {"evaluation_due", evaluation_due_},
        {"run", task_.fingerprint()}};
    HONE_TRY(w.add_json(kStateFile, state));
  }
  const std::string path = HONE_TRY(w.commit());
  last_saved_ = done_;
  log_info("{:<11} {}", "saved", path);
  if (s_.save_total_limit)
    HONE_TRY(rotate_checkpoints(s_.output_dir,
                                {.save_total_limit = *s_.save_total_limit, .trusted = path}));
  return Ok{};
}

Result<OrderedJson> Trainer::evaluate() {
  auto start = SteadyClock::now();
  OrderedJson got = HONE_TRY(task_.evaluate());
  evaluation_due_ = got.empty();
  if (evaluation_due_) return got;
  const double seconds = seconds_since(start), rows = got.value("samples", 0.0);
  OrderedJson m;
  if (trained_) m["epoch"] = task_.steps().epoch_after(done_);
  for (const auto& [key, value] : got.items()) m[key == "perplexity" ? key : "eval_" + key] = value;
  m["eval_runtime"] = round_to(seconds, 1e4);
  m["eval_samples_per_second"] = round_to(rows / seconds, 1e3);
  m["eval_steps_per_second"] =
      round_to(std::ceil(rows / static_cast<double>(s_.per_device_eval_batch_size)) / seconds, 1e3);
  OrderedJson entry = m;
  entry["step"] = done_;
  history_.push_back(Json(entry));
  last_evaluated_ = done_;
  log_info("{:<11} step {}: loss {:.4f}, perplexity {:.3f}", "evaluated", done_,
           got.value("loss", NAN), got.value("perplexity", NAN));
  return m;
}

Status Trainer::log_step(int64_t step, double rate, double grad_norm) {
  OrderedJson entry;
  entry["epoch"] = task_.steps().epoch_after(step);
  entry["grad_norm"] = grad_norm;
  entry["learning_rate"] = rate;
  entry["loss"] = loss_.take_mean();
  entry["step"] = step;
  history_.push_back(Json(entry));
  if (s_.disable_tqdm || !is_terminal(2))
    log_info(
        "{:<11} step {}/{} epoch {:.2f}: loss {:.4f}, gradient norm {:.3f}, learning rate {:.3g}",
        "train", step, task_.steps().total_steps(), entry["epoch"].get<double>(),
        entry["loss"].get<double>(), grad_norm, rate);
  return Ok{};
}

Result<TrainOutcome> Trainer::train() {
  const StepCount& steps = task_.steps();
  const int64_t total = steps.total_steps(), first = done_;
  Session& s = task_.session();
  const size_t update = s.program_index("update");
  lock_.emplace(HONE_TRY(RunLock::take(s_.output_dir)));
  HONE_TRY(mark_run(s_.output_dir, false, task_.fingerprint()));
  HONE_TRY(clean_leftovers(s_.output_dir));
  for (const std::string& checkpoint : discard_) HONE_TRY(delete_checkpoint(checkpoint));
  discard_.clear();

  trained_ = true;
  TrainOutcome outcome;
  auto start = SteadyClock::now();
  int64_t tokens = 0, rows = 0;
  Progress bar("training", total, {.start = done_});
  auto save_is_due = [&](bool end_of_epoch) {
    return s_.save_strategy == "epoch"
               ? end_of_epoch
               : s_.save_strategy == "steps" && (every(s_.save_steps, done_) || done_ == total);
  };
  auto ends_epoch = [&] { return done_ == total || done_ % steps.steps_per_epoch() == 0; };
  if (s_.eval_on_start && done_ == 0 && task_.can_evaluate()) HONE_TRY(evaluate());
  if (evaluation_due_ && done_ > 0 && task_.can_evaluate()) {
    HONE_TRY(evaluate());
    if (save_is_due(ends_epoch()) && !evaluation_due_) {
      last_saved_ = -1;  // its log lacks the evaluation
      HONE_TRY(save_checkpoint());
    }
  }
  outcome.stopped_by = stop_signal();  // it may have come while data were read: nothing to save
  while (done_ < total && !outcome.stopped_by) {
    const double rate = schedule_.rate(done_);
    const StepSums sums = HONE_TRY(task_.gradients(done_));
    if (sums.stopped && done_ > 0) {
      outcome.stopped_by = stop_signal();
      HONE_TRY(save_checkpoint());
      break;
    }
    if (!std::isfinite(sums.loss))
      return Error(err::kNotFinite, fmt::format("the loss of step {} is {}", done_ + 1, sums.loss))
          .todo(
              "use a smaller --learning_rate or more --warmup_steps; the last checkpoint is as it "
              "was");
    s.input<double>(update, "lr")[0] = rate;
    s.input<int64_t>(update, "step")[0] = done_ + 1;
    s.run(update);
    const double grad_norm = s.output<double>(update, "grad_norm")[0];
    if (!std::isfinite(grad_norm))
      return Error(err::kNotFinite,
                   fmt::format("the gradient norm of step {} is {}", done_ + 1, grad_norm))
          .todo(
              "use a smaller --learning_rate or more --warmup_steps; the last checkpoint is as it "
              "was");
    ++done_;
    loss_.add(sums.loss);
    flops_ += task_.flops_of_step(sums);
    tokens += sums.tokens;
    rows += sums.rows;
    tokens_seen_ += sums.tokens;

    const bool last = done_ == total, end_of_epoch = ends_epoch();
    const double seconds = seconds_since(start), done_now = static_cast<double>(done_ - first);
    std::array<char, 128> line;  // no allocation in the loop
    const auto written = fmt::format_to_n(
        line.data(), line.size(), "loss {:.4f}  {:.0f} tokens/s  {:.2f} examples/s  {:.3f} s/step",
        sums.loss, static_cast<double>(tokens) / seconds, static_cast<double>(rows) / seconds,
        seconds / done_now);
    bar.update(done_, {line.data(), std::min(written.size, line.size())});
    if (s_.logging_strategy == "epoch"
            ? end_of_epoch
            : s_.logging_strategy == "steps" &&
                  (every(s_.logging_steps, done_) || (s_.logging_first_step && done_ == 1)))
      HONE_TRY(log_step(done_, rate, grad_norm));
    const double eval_steps = s_.eval_steps > 0 ? s_.eval_steps : s_.logging_steps;
    if (task_.can_evaluate() &&
        (s_.eval_strategy == "epoch"
             ? end_of_epoch
             : s_.eval_strategy == "steps" && (every(eval_steps, done_) || last)))
      HONE_TRY(evaluate());
    outcome.stopped_by = stop_signal();
    if (save_is_due(end_of_epoch) || outcome.stopped_by) HONE_TRY(save_checkpoint());
    if (outcome.stopped_by) break;
  }
  bar.finish();
  const double seconds = seconds_since(start);
  outcome.steps_done = done_ - first;
  OrderedJson m;
  m["epoch"] = steps.epoch_after(done_);
  m["total_flos"] = flops_;
  m["train_loss"] = done_ > 0 ? loss_.run_mean() : 0.0;
  m["train_runtime"] = round_to(seconds, 1e4);
  m["train_samples"] = task_.train_rows();
  m["train_samples_per_second"] = round_to(static_cast<double>(rows) / seconds, 1e3);
  m["train_steps_per_second"] = round_to(static_cast<double>(outcome.steps_done) / seconds, 1e3);
  m["train_seconds_per_step"] =
      outcome.steps_done ? round_to(seconds / static_cast<double>(outcome.steps_done), 1e4) : 0.0;
  m["train_tokens_per_second"] = round_to(static_cast<double>(tokens) / seconds, 1e3);
  OrderedJson entry = m;
  entry["step"] = done_;
  history_.push_back(Json(entry));
  outcome.metrics = m;
  if (outcome.stopped_by) {
    log_info("{:<11} by a signal after step {} of {}; the same command continues", "stopped", done_,
             total);
    return outcome;
  }
  HONE_TRY(task_.save_model_files(s_.output_dir));
  std::vector<TensorData> weights;
  for (const std::string& name : task_.weight_names()) weights.push_back(tensor_of(s, name, name));
  HONE_TRY(save_safetensors(s_.output_dir, "model", weights));
  HONE_TRY(write_state());
  return outcome;
}

Status Trainer::write_state() const {
  return file_store().write(s_.output_dir + "/" + kTrainerStateFile, state_text());
}

Status Trainer::finish() const { return mark_run(s_.output_dir, true, task_.fingerprint()); }

Status Trainer::write_results(const std::string& which, const OrderedJson& metrics) {
  Store& store = file_store();
  HONE_TRY(store.make_dirs(s_.output_dir));
  const JsonStyle style{.indent = 4};
  const Json sorted(metrics);
  HONE_TRY(store.write(fmt::format("{}/{}_results.json", s_.output_dir, which),
                       dump_json(sorted, style) + "\n"));
  const std::string all = s_.output_dir + "/all_results.json";
  Json together = Json::object();
  if (Result<Json> before = read_json_file(all); before && before->is_object()) together = *before;
  together.update(sorted);
  return store.write(all, dump_json(together, style) + "\n");
}

}  // namespace hone

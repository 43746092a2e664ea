// Where a run begins, what it saves and what it continues from.
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/checkpoint/output_dir.h"
#include "learn/checkpoint/state_tensor.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "learn/train/errors.h"
#include "learn/train/ledger.h"
#include "learn/train/step_profile.h"
#include "learn/train/trainer.h"

namespace hone {
namespace {

std::vector<TensorData> tensors_of(Session& s, const std::vector<std::string>& names) {
  std::vector<TensorData> tensors;
  for (const std::string& name : names) tensors.push_back(state_tensor(s, name, name));
  return tensors;
}

// With those that a file holds under two names.
std::vector<TensorData> with_second_names(const TrainTask& task, std::vector<TensorData> tensors) {
  for (size_t i = 0, n = tensors.size(); i < n; ++i) {
    TensorData again = tensors[i];
    again.name = task.second_name(tensors[i].name);
    if (!again.name.empty()) tensors.push_back(std::move(again));
  }
  return tensors;
}

Status read_into(const WeightSource& from, const std::string& name, Session& s,
                 const std::string& checkpoint) {
  const TensorInfo* info = from.find(name);
  const Type type = s.state_type(name);
  if (!info || info->type.shape != type.shape)
    return Error(err::kResumeMismatch,
                 info ? fmt::format("the checkpoint's '{}' is {}, the model's {}", name,
                                    info->type.text(), type.text())
                      : fmt::format("the checkpoint has no '{}'", name))
        .at(checkpoint)
        .todo(
            "continue with the model and --optim that the checkpoint is of, or start again with "
            "--overwrite_output_dir");
  return load_state(s, name, from, name);
}

// Warns of checkpoints that are newer than the one to continue from: why they are left out.
Status tell_newer(const std::string& folder, const std::string& chosen) {
  if (!HONE_TRY(file_store().exists(folder))) return Ok{};
  const int64_t from = step_of_checkpoint_name(chosen.substr(chosen.rfind('/') + 1));
  for (const Store::Entry& e : HONE_TRY(file_store().list(folder))) {
    if (!e.folder || step_of_checkpoint_name(e.name) <= from) continue;
    const std::string path = folder + "/" + e.name;
    const Result<CheckpointInfo> info = inspect_checkpoint(path);
    if (!info.ok())
      log_warning("'{}' is left out: {}", path, info.error().what());
    else if (!info->resumable)
      log_warning("'{}' is left out: it has no optimizer state", path);
  }
  return Ok{};
}

constexpr int kSavesMissed = 3;  // in a row, then the run ends

constexpr const char* kExtra = "saved_because_stopped";  // in kStateFile

Result<bool> is_extra(const std::string& checkpoint) {
  const std::string file = checkpoint + "/" + kStateFile;
  if (!HONE_TRY(file_store().exists(file))) return false;
  const Json state = HONE_TRY(parse_json(HONE_TRY(file_store().read(file)), file));
  return state.is_object() && state.value(kExtra, false);
}

std::vector<std::string> optimizer_states(const Session& s) {
  std::vector<std::string> names;
  for (const StateSlot& slot : s.plan().states)
    if (slot.role == Role::moment && slot.shard.begin == 0) names.push_back(slot.tensor());
  return names;
}

// What a checkpoint holds of the session.
struct SavedTensors {
  std::vector<TensorData> weights, moments;

  bool host_reads(const Session& s) const {
    const auto reads = [&](const TensorData& t) { return s.host_reads(t.name); };
    return std::all_of(weights.begin(), weights.end(), reads) &&
           std::all_of(moments.begin(), moments.end(), reads);
  }
  // From now on they are in `memory`.
  Status copy(const Session& s, std::span<std::byte> memory) {
    memory = HONE_TRY(copy_tensors(s, weights, memory));
    HONE_TRY(copy_tensors(s, moments, memory));
    return Ok{};
  }
};

SavedTensors saved_tensors(TrainTask& task, bool only_model) {
  Session& s = task.session();
  return {tensors_of(s, task.weight_names()),
          only_model ? std::vector<TensorData>() : tensors_of(s, optimizer_states(s))};
}

// The split of the run that wrote the checkpoint, if it says it.
std::optional<Split> split_of(const std::string& checkpoint) {
  const Result<Json> state = read_json_file(checkpoint + "/" + kStateFile);
  if (!state) return {};  // resume() says what is wrong
  try {
    const Json& split = state->at("run").at("split");
    const Split s{split.at("rows").get<int64_t>(), split.at("whole_steps").get<bool>()};
    return s.rows > 0 ? std::optional(s) : std::nullopt;
  } catch (const Json::exception&) {
    return {};
  }
}

}  // namespace

Result<TrainStart> Trainer::find_start(const TrainSettings& s) {
  HONE_TRY(check_strategies(s));
  HONE_TRY(profiled_steps(s));
  const std::string& asked = s.resume_from_checkpoint;
  const bool newest = asked == "true" || asked == "True",
             never = asked == "false" || asked == "False";
  OutputDir dir = HONE_TRY(classify_output_dir(s.output_dir));
  if (dir.kind == OutputDirKind::foreign_files && !s.overwrite_output_dir)
    return Error(err::kOutputFolderTaken, fmt::format("the folder '{}' holds other files: {}",
                                                      s.output_dir, join(dir.foreign, ", ")))
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
    start.split = split_of(start.checkpoint);
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
  if (!start.checkpoint.empty()) start.split = split_of(start.checkpoint);
  if (!s.overwrite_output_dir && !never) HONE_TRY(tell_newer(s.output_dir, start.checkpoint));
  start.finished = dir.kind == OutputDirKind::finished && !s.overwrite_output_dir && !never;
  if (start.finished) start.ended = dir.run;
  return start;
}

Result<bool> Trainer::begin(const TrainStart& start) {
  discard_ = start.discard;
  if (!start.checkpoint.empty()) HONE_TRY(resume(start.checkpoint));
  if (!start.finished) return false;
  const int64_t total = task_.steps().total_steps();
  if (start.checkpoint.empty()) {
    if (start.ended.is_object())
      for (const Difference& d : differences(start.ended, task_.fingerprint(), false))
        return Error(err::kOutputFolderTaken,
                     fmt::format("a run with another '{}' ended in '{}': {} then, {} now", d.name,
                                 s_.output_dir, d.then.dump(), d.now.dump()))
            .at("--output_dir " + s_.output_dir)
            .todo("name another folder, or start again with --overwrite_output_dir");
  } else if (done_ < total) {
    // Stopped early, or its last checkpoint is gone; else the command asks for more steps.
    bool whole = false;
    if (start.ended.is_object() && start.ended.value("total_steps", int64_t{-1}) == total)
      for (const std::string file : {".safetensors", ".safetensors.index.json"})
        whole = HONE_TRY(file_store().exists(s_.output_dir + "/" + task_.weights_stem() + file)) ||
                whole;
    if (!whole) return false;
  }
  Json state = Json::object();
  if (Result<Json> read = read_json_file(s_.output_dir + "/" + kTrainerStateFile);
      read.ok() && read->is_object())
    state = std::move(*read);
  // The last checkpoint may be older: that of the best evaluation.
  if (const Json& step = state.value("global_step", Json()); step.is_number_integer())
    done_ = step.get<int64_t>();
  if (done_ <= 0 || done_ > total) done_ = total;
  log_info(
      "{:<11} the run in '{}' has ended after step {}: nothing is left to train "
      "(--overwrite_output_dir starts again{})",
      "finished", s_.output_dir, done_,
      start.checkpoint.empty() ? "" : ", a larger --num_train_epochs or --max_steps continues");
  trained_ = true;
  for (const auto& c : callbacks_)
    c->on_ended_before(place(), state.value("log_history", Json::array()));
  return true;
}

Status Trainer::load_states(const ResumeState& from, const std::string& checkpoint) {
  Session& s = task_.session();
  for (const std::string& name : task_.weight_names())
    HONE_TRY(read_into(*from.weights, name, s, checkpoint));
  for (const std::string& name : optimizer_states(s))
    HONE_TRY(read_into(*from.optimizer, name, s, checkpoint));
  return Ok{};
}

Status Trainer::resume(const std::string& checkpoint) {
  ResumeState from = HONE_TRY(open_checkpoint(checkpoint));
  if (from.state.is_null() || !from.weights || !from.optimizer)
    return Error(err::kResumeMismatch,
                 "the checkpoint has weights but no optimizer state, so the run cannot be "
                 "continued from it")
        .at(checkpoint)
        .todo("begin a new run from its weights: --model_name_or_path " + checkpoint);
  HONE_TRY(load_states(from, checkpoint));
  const Json& state = from.state;
  try {
    done_ = state.at("step").get<int64_t>();
    loss_.restore({state.at("loss").at("sum"), state.at("loss").at("total"),
                   state.at("loss").at("steps"), state.at("loss").at("total_steps")});
    flops_ = state.at("total_flos");
    tokens_seen_ = state.at("tokens_seen");
    last_evaluated_ = state.at("last_evaluated");
    evaluation_due_ = state.value("evaluation_due", false);
    skipped_ = state.value("skipped_steps", int64_t{0});
    not_finite_in_row_ = state.value("not_finite_in_row", int64_t{0});
    if (const Json rolled = state.value("rolled_back", Json()); rolled.is_object())
      rolled_back_ = {rolled.at("to").get<int64_t>(), rolled.at("times").get<int64_t>()};
    if (loss_scale_) loss_scale_->restore(state.value("loss_scale", Json()));
    if (const Json best = state.value("best", Json()); best.is_object()) {
      best_.metric = best.at("metric").get<double>();
      best_.step = best.at("step");
      best_.checkpoint_step = best.at("checkpoint_step");
      if (best_.checkpoint_step > 0 &&
          !HONE_TRY(
              file_store().exists(checkpoint_path(best_.checkpoint_step) + "/" + kManifestFile))) {
        log_warning("the best checkpoint '{}' is not there any more",
                    checkpoint_path(best_.checkpoint_step));
        best_.checkpoint_step = 0;
      }
    }
    const Json listeners = from.trainer_state.value("stateful_callbacks", Json::object());
    for (const auto& c : callbacks_)
      if (listeners.contains(c->name())) c->restore(listeners[c->name()]);
    for (const Difference& d : differences(state.at("run"), task_.fingerprint()))
      log_warning(
          "resume: '{}' was {} and is {} now: the bits will differ from those of an "
          "uninterrupted run",
          d.name, d.then.dump(), d.now.dump());
  } catch (const Json::exception& e) {
    return Error(err::kResumeMismatch,
                 fmt::format("the checkpoint's state cannot be read: {}", e.what()))
        .at(checkpoint);
  }
  HONE_TRY(task_.seek(state.contains("data") ? state["data"] : Json(), checkpoint));
  if (from.trainer_state.contains("log_history")) history_ = from.trainer_state["log_history"];
  last_saved_ = done_;
  continued_from_ = checkpoint;
  const int64_t total = task_.steps().total_steps();
  log_info("{:<11} from {} (step {}{})", "continue", checkpoint, done_,
           done_ > total ? fmt::format(", {} are asked for", total) : fmt::format(" of {}", total));
  return Ok{};
}

std::string Trainer::checkpoint_path(int64_t step) const {
  return fmt::format("{}/checkpoint-{}", s_.output_dir, step);
}

// As Transformers writes it: keys sorted, indented by two.
std::string Trainer::state_text(const BestModel& best) const {
  Json j;
  j["best_global_step"] = best.step > 0 ? Json(best.step) : Json();
  j["best_metric"] = best.metric ? Json(*best.metric) : Json();
  j["best_model_checkpoint"] =
      best.checkpoint_step > 0 ? Json(checkpoint_path(best.checkpoint_step)) : Json();
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
  j["stateful_callbacks"] = Json::object();
  for (const auto& c : callbacks_)
    if (!c->name().empty()) j["stateful_callbacks"][c->name()] = c->state();
  j["total_flos"] = flops_;
  j["train_batch_size"] = s_.per_device_train_batch_size;
  j["trial_name"] = nullptr;
  j["trial_params"] = nullptr;
  return dump_json(j, {.indent = 2}) + "\n";
}

// What only hone needs to continue; null with --save_only_model.
Json Trainer::resume_state(bool extra, const BestModel& best) const {
  if (s_.save_only_model) return nullptr;
  const TrainLoss::State l = loss_.state();
  Json state = {
      {"step", done_},
      {"loss",
       {{"sum", l.sum}, {"total", l.total}, {"steps", l.steps}, {"total_steps", l.total_steps}}},
      {"total_flos", flops_},
      {"tokens_seen", tokens_seen_},
      {"last_evaluated", last_evaluated_},
      {"evaluation_due", evaluation_due_},
      {"best", best.metric ? Json{{"metric", *best.metric},
                                  {"step", best.step},
                                  {"checkpoint_step", best.checkpoint_step}}
                           : Json()},
      {"run", task_.fingerprint()}};
  if (skipped_ > 0) state["skipped_steps"] = skipped_;
  if (not_finite_in_row_ > 0) state["not_finite_in_row"] = not_finite_in_row_;
  if (rolled_back_.times > 0)
    state["rolled_back"] = {{"to", rolled_back_.to}, {"times", rolled_back_.times}};
  if (loss_scale_) state["loss_scale"] = loss_scale_->state();
  if (Json place = task_.data_place(); !place.is_null()) state["data"] = std::move(place);
  if (extra) state[kExtra] = true;
  return state;
}

// A run that was not stopped has the same best checkpoint.
int64_t Trainer::best_with_this(bool extra) const {
  const int64_t before = best_.checkpoint_step;
  if (best_.step == 0 || best_.step == before) return before;
  if (best_.step == done_) return extra ? before : done_;
  // A store that does not answer is asked again at the next checkpoint.
  const std::string best = checkpoint_path(best_.step);
  const Result<bool> there = file_store().exists(best + "/" + kManifestFile);
  if (!there.ok() || !*there) return before;
  const Result<bool> goes = is_extra(best);
  return goes.ok() && !*goes ? best_.step : before;
}

Status Trainer::save_checkpoint(bool extra, bool last) {
  const bool at_once = extra;
  if (last_saved_ == done_) {
    if (!extra) return Ok{};
    HONE_TRY(finish_save(Next::last_save));
    if (last_saved_ == done_) return Ok{};
    extra = false;  // it was due, and is tried again
  }
  HONE_TRY(finish_save(last ? Next::last_save : Next::steps));
  Session& s = task_.session();
  BestModel best = best_;
  best.checkpoint_step = best_with_this(extra);
  SavedTensors saved = saved_tensors(task_, s_.save_only_model);
  const bool beside = !at_once && !file_store().renames_folders_at_once(s_.output_dir);
  const bool host_reads = saved.host_reads(s);
  const std::span<std::byte> room = beside ? task_.save_copy() : std::span<std::byte>();
  const double begin = system_clock().seconds();
  // The device copies between two steps, the host beside the next one.
  const bool copies_beside = host_reads && !room.empty();
  if (!host_reads && !room.empty()) HONE_TRY(saved.copy(s, room));
  auto write = [this, step = done_, saved = std::move(saved), room, copies_beside,
                state = resume_state(extra, best), trainer_state = state_text(best)](
                   const std::function<void()>& all_read) mutable -> Status {
    if (copies_beside) HONE_TRY(saved.copy(task_.session(), room));
    if (!room.empty()) all_read();
    CheckpointWriter w = HONE_TRY(CheckpointWriter::begin(s_.output_dir, step));
    HONE_TRY(w.add_tensors(task_.weights_stem(), with_second_names(task_, saved.weights)));
    // Also without a single one (SGD): a checkpoint without this file cannot be continued.
    if (!state.is_null()) HONE_TRY(w.add_tensors(kOptimizerStem, saved.moments));
    all_read();
    HONE_TRY(task_.save_model_files(w.folder()));
    HONE_TRY(w.add_file(kTrainerStateFile, trainer_state));
    if (!state.is_null()) HONE_TRY(w.add_json(kStateFile, state));
    HONE_TRY(w.commit());
    return Ok{};
  };
  last_saved_ = done_;
  Saving saving{nullptr, place(), checkpoint_path(done_), extra, best.checkpoint_step};
  auto timed = [write = std::move(write), begin,
                out = saving.done](const std::function<void()>& all_read) mutable {
    Status written = write(all_read);
    out->seconds = system_clock().seconds() - begin;
    return written;
  };
  if (!beside || (!host_reads && room.empty()))
    return after_save(saving, timed([] {}), last ? Next::end : Next::steps);
  // A bucket needs several requests to read or delete a checkpoint: training does not wait for them.
  saving.job = std::make_unique<BackgroundSave>(
      [this, timed = std::move(timed), step = done_, best = saving.best_step,
       out = saving.done](const std::function<void()>& all_read) mutable -> Status {
        HONE_TRY(timed(all_read));
        out->deleted = drop_extra_but(step);
        if (out->deleted.ok()) out->deleted = rotate(step, best);
        return Ok{};
      });
  s.before_change([job = saving.job.get()] { job->wait_until_read(); });
  saving_ = std::move(saving);
  return Ok{};
}

Status Trainer::finish_save(Next next) {
  if (!saving_) return Ok{};
  const Saving saving = std::move(*saving_);
  saving_.reset();
  Status written = saving.job->wait();
  save_seconds_ += saving.job->waited_seconds();
  task_.session().before_change(nullptr);
  if (const double waited = saving.job->waited_seconds(); waited >= 0.1)
    log_info("{:<11} {:.1f} s for {}: its store is slower than a step", "waited", waited,
             saving.path);
  return after_save(saving, std::move(written), next);
}

Status Trainer::save_in_training(bool extra, bool last) {
  const double begin = system_clock().seconds();
  Status saved = save_checkpoint(extra, last);
  (last ? last_save_seconds_ : save_seconds_) += system_clock().seconds() - begin;
  return saved;
}

Status Trainer::finish_in_training(bool last) {
  const double begin = system_clock().seconds();
  Status saved = finish_save(last ? Next::end : Next::steps);
  (last ? last_save_seconds_ : save_seconds_) += system_clock().seconds() - begin;
  return saved;
}

double Trainer::save_seconds() const {
  return save_seconds_ + (saving_ ? saving_->job->waited_seconds() : 0);
}

Status Trainer::after_save(const Saving& saving, Status written, Next next) {
  const int64_t step = saving.place.step;
  if (!written.ok()) {
    last_saved_ = -1;
    left_over_ = true;
    const bool is_the_last = next == Next::end && (step == task_.steps().total_steps() ||
                                                   (stop_signal() && step == done_));
    const bool is_tried_again = next == Next::last_save;
    if (!saving.job || is_the_last || (++saves_missed_ >= kSavesMissed && !is_tried_again))
      return written;
    log_warning("{} could not be saved, {}: {}", saving.path,
                is_tried_again ? "the last checkpoint is tried all the same" : "training continues",
                written.error().text());
    return Ok{};
  }
  saves_missed_ = 0;
  best_.checkpoint_step = saving.best_step;
  for (const auto& c : callbacks_) c->on_save(saving.place, saving.path, saving.done->seconds);
  if (saving.job) {
    after_deletion(saving.done->deleted);
    return Ok{};
  }
  Status deleted = drop_extra_checkpoints();
  if (deleted.ok() && !saving.extra) deleted = rotate(step, saving.best_step);
  after_deletion(deleted);
  return Ok{};
}

void Trainer::after_deletion(const Status& deleted) {
  if (deleted.ok()) return;
  left_over_ = true;
  log_warning("older checkpoints could not be deleted, the run continues: {}",
              deleted.error().text());
}

Status Trainer::delete_at_end() {
  HONE_TRY(drop_extra_checkpoints());
  if (best_.checkpoint_step > 0 && s_.save_total_limit == 1)  // as Transformers: the best alone
    for (const CheckpointInfo& c : HONE_TRY(find_checkpoints(s_.output_dir)))
      if (c.by_hone && c.step != best_.checkpoint_step) HONE_TRY(delete_checkpoint(c.path));
  if (left_over_) HONE_TRY(clean_leftovers(s_.output_dir));
  return Ok{};
}

Status Trainer::rotate(int64_t step, int64_t best_step) const {
  if (!s_.save_total_limit) return Ok{};
  HONE_TRY(
      rotate_checkpoints(s_.output_dir, {.save_total_limit = *s_.save_total_limit,
                                         .best = best_step > 0 ? checkpoint_path(best_step) : "",
                                         .trusted = checkpoint_path(step)}));
  return Ok{};
}

Status Trainer::drop_extra_checkpoints() {
  const bool ended = !stop_signal() && (done_ == task_.steps().total_steps() || stops_early());
  return drop_extra_but(ended ? -1 : done_);
}

Status Trainer::drop_extra_but(int64_t step) const {
  for (const CheckpointInfo& c : HONE_TRY(find_checkpoints(s_.output_dir))) {
    if (!c.by_hone || c.step == step) continue;
    const Result<bool> extra = is_extra(c.path);
    if (extra.ok() && *extra) HONE_TRY(delete_checkpoint(c.path));
  }
  return Ok{};
}

Status Trainer::load_best() {
  if (best_.checkpoint_step == 0) {
    log_warning("no checkpoint of the best evaluation was saved: the last weights stay");
    return Ok{};
  }
  const std::string checkpoint = checkpoint_path(best_.checkpoint_step);
  const ResumeState from = HONE_TRY(open_checkpoint(checkpoint));
  Session& s = task_.session();
  for (const std::string& name : task_.weight_names())
    HONE_TRY(read_into(*from.weights, name, s, checkpoint));
  if (best_.checkpoint_step != best_.step) {
    log_warning(
        "no checkpoint of the best evaluation, after step {}, was saved: {} is the model that "
        "stays",
        best_.step, checkpoint);
    return Ok{};
  }
  log_info("{:<11} {} ({} {:.6g}) is the model that stays", "best", checkpoint,
           best_metric_of(s_)->name, *best_.metric);
  return Ok{};
}

OrderedJson Trainer::ended_metrics() const {
  const Result<std::string> text = read_file(s_.output_dir + "/train_results.json");
  if (!text.ok()) return nullptr;
  Result<OrderedJson> metrics = parse_ordered_json(*text, "train_results.json");
  return metrics.ok() && metrics->is_object() ? std::move(*metrics) : OrderedJson();
}

Status Trainer::load_ended() {
  std::string from = s_.output_dir;
  if (task_.weights_stem() != "model") from += "/" + task_.weights_stem() + ".safetensors";
  const std::unique_ptr<WeightSource> weights = HONE_TRY(open_weights(from));
  for (const std::string& name : task_.weight_names())
    HONE_TRY(read_into(*weights, name, task_.session(), s_.output_dir));
  return Ok{};
}

Status Trainer::save_model() {
  HONE_TRY(task_.save_model_files(s_.output_dir));
  return save_safetensors(s_.output_dir, task_.weights_stem(),
                          with_second_names(task_, saved_tensors(task_, true).weights));
}

}  // namespace hone

// Saves of a run, and the rotation of checkpoints.
#include <filesystem>

#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/objects/service.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "learn/train/errors.h"
#include "learn/train/run_copies.h"
#include "learn/train/saved_run.h"
#include "learn/train/trainer.h"

namespace hone {
namespace {

constexpr int kSavesMissed = 3;  // in a row, then the run ends

constexpr const char* kExtra = "saved_because_stopped";  // in kStateFile

Result<bool> is_extra(const std::string& checkpoint) {
  const std::string file = checkpoint + "/" + kStateFile;
  if (!HONE_TRY(file_store().exists(file))) return false;
  const Json state = HONE_TRY(parse_json(HONE_TRY(file_store().read(file)), file));
  return state.is_object() && state.value(kExtra, false);
}

}  // namespace

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
  j["eval_steps"] = steps_of(s_.evaluation_interval());
  j["global_step"] = done_;
  j["is_hyper_param_search"] = false;
  j["is_local_process_zero"] = true;
  j["is_world_process_zero"] = true;
  j["log_history"] = history_;
  j["logging_steps"] = steps_of(s_.logging_interval(task_.steps().total_steps()));
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

// State that only hone needs to continue.
Json Trainer::resume_state(bool extra, const BestModel& best) const {
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
      {"run", run_facts()}};
  if (skipped_ > 0) state["skipped_steps"] = skipped_;
  if (not_finite_in_row_ > 0) state["not_finite_in_row"] = not_finite_in_row_;
  if (rolled_back_.times > 0)
    state["rolled_back"] = {{"to", rolled_back_.to}, {"times", rolled_back_.times}};
  if (loss_scale_) state["loss_scale"] = loss_scale_->state();
  if (plateau_) state["plateau"] = plateau_->state();
  if (Json place = task_.data_place(); !place.is_null()) state["data"] = std::move(place);
  if (extra) state[kExtra] = true;
  note_run(state);
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

Result<int64_t> Trainer::agreed_best_with_this(bool extra) const {
  const Json step = HONE_TRY(s_.ranks->decide(
      "the best checkpoint", [&]() -> Result<Json> { return Json(best_with_this(extra)); }));
  return step.get<int64_t>();
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
  best.checkpoint_step = HONE_TRY(agreed_best_with_this(extra));
  SavedTensors saved =
      saved_tensors(task_, s_.save_only_model ? std::vector<std::string>() : optimizer_states(s));
  const bool beside =
      !at_once && s_.ranks->alone() && !file_store().renames_folders_at_once(s_.output_dir);
  const bool host_reads = saved.host_reads(s);
  const std::span<std::byte> room = beside ? task_.save_copy() : std::span<std::byte>();
  const double begin = system_clock().seconds();
  // The device copies between two steps, the host beside the next one.
  const bool copies_beside = host_reads && !room.empty();
  if (!host_reads && !room.empty()) HONE_TRY(saved.copy(s, room));
  auto write =
      [this, step = done_, room, copies_beside,
       run = SavedRun{std::move(saved), s_.save_only_model ? Json() : resume_state(extra, best),
                      state_text(best)}](const std::function<void()>& all_read) mutable -> Status {
    if (copies_beside) HONE_TRY(run.tensors.copy(task_.session(), room));
    if (!room.empty()) all_read();
    HONE_TRY(write_checkpoint(*s_.ranks, s_.output_dir, step, task_, run, all_read));
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
  // A bucket needs several requests to read or delete a checkpoint: training does not wait for
  // them.
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

Status Trainer::check_folder() {
  Status mine = lock_ ? lock_->check() : Status(Ok{});
  if (mine.ok() || !mine.error().is(err::kOutputFolderGone)) return mine;
  return keep_elsewhere(std::move(mine.error()));
}

// Writes the current state beside the folder, or else among temporary files, and adds the place.
Status Trainer::keep_elsewhere(Error why) {
  // On several ranks the others may see the folder, or have ended.
  if (done_ == 0 || !s_.ranks->alone()) return std::move(why.todo("give the same command again"));
  const std::string beside = without_end_slash(s_.output_dir);
  std::error_code none;
  const std::string last = std::filesystem::temp_directory_path(none).string() + "/hone-";
  HONE_TRY(use_averages());
  const SavedRun run{saved_tensors(task_, s_.save_only_model ? std::vector<std::string>()
                                                             : optimizer_states(task_.session())),
                     s_.save_only_model ? Json() : resume_state(false, best_), state_text(best_)};
  for (const std::string& folder : {beside + ".kept", last + random_name()}) {
    const Result<std::string> kept = write_checkpoint(*s_.ranks, folder, done_, task_, run, [] {});
    if (!kept.ok()) {
      why.at(kept.error().what());
      continue;
    }
    why.at(fmt::format("the state after step {}: {}", done_, *kept));
    return std::move(why.todo(fmt::format(
        "give the same command with {} {}",
        s_.save_only_model ? "--model_name_or_path" : "--resume_from_checkpoint", *kept)));
  }
  return std::move(why.todo("give the same command again: the state could not be kept"));
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
  const bool averages = HONE_TRY(use_averages());
  Status saved = save_checkpoint(extra, last);
  HONE_TRY(leave_averages(averages));
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
  if (!s_.ranks->leads()) return Ok{};
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

Status Trainer::save_model() {
  if (s_.ranks->leads()) HONE_TRY(task_.save_finished_files(s_.output_dir));
  return write_model(*s_.ranks, s_.output_dir, task_);
}

}  // namespace hone

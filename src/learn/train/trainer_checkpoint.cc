// The start of a run: new, or from a checkpoint.
#include <filesystem>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/objects/service.h"
#include "base/store/private_file.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/checkpoint/output_dir.h"
#include "learn/checkpoint/safetensors/stacked_weights.h"
#include "learn/checkpoint/state_tensor.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "learn/train/errors.h"
#include "learn/train/host_copies.h"
#include "learn/train/imported_run.h"
#include "learn/train/ledger.h"
#include "learn/train/run_copies.h"
#include "learn/train/run_ranks.h"
#include "learn/train/step_profile.h"
#include "learn/train/trainer.h"

namespace hone {
namespace {

// `saved`: the name there, if it is another.
Status read_into(const WeightSource& from, const std::string& name, Session& s,
                 const std::string& checkpoint, const std::string& saved = "") {
  const std::string& there = saved.empty() ? name : saved;
  const TensorInfo* info = from.find(there);
  const Type type = s.state_type(name);
  if (!info || info->type.shape != type.shape)
    return Error(err::kResumeMismatch,
                 info ? fmt::format("the checkpoint's '{}' is {}, the model's {}", name,
                                    info->type.text(), type.text())
                      : fmt::format("the checkpoint has no '{}'", name))
        .at(checkpoint)
        .todo(
            "continue with the checkpoint's model and --optim, or start again with "
            "--overwrite_output_dir");
  return load_state(s, name, from, there);
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

Json json_of(const TrainStart& start) {
  Json j{{"checkpoint", start.checkpoint},
         {"finished", start.finished},
         {"ended", start.ended},
         {"in_memory", start.in_memory},
         {"discard", start.discard}};
  if (start.split) j["split"] = {{"rows", start.split->rows}, {"whole", start.split->whole}};
  return j;
}

TrainStart start_from_json(const Json& j) {
  TrainStart start;
  start.checkpoint = j.at("checkpoint").get<std::string>();
  start.finished = j.at("finished").get<bool>();
  start.ended = j.at("ended");
  start.in_memory = j.at("in_memory").get<bool>();
  start.discard = j.at("discard").get<std::vector<std::string>>();
  if (const Json split = j.value("split", Json()); !split.is_null())
    start.split = Split{split.at("rows").get<int64_t>(), split.at("whole").get<bool>()};
  return start;
}

// Checks that the ranks see one output folder: a file of rank 0 is there.
Status check_shared(const TrainSettings& s) {
  RunRanks& ranks = *s.ranks;
  const Json file = HONE_TRY(ranks.decide("the output folder", [&]() -> Result<Json> {
    const std::string name = fmt::format("{}/.hone_ranks-{}", s.output_dir, random_name());
    HONE_TRY(file_store().write(name, "seen by all ranks\n"));
    return Json{{"name", name}, {"host", ranks.host()}};
  }));
  const std::string name = file.at("name").get<std::string>();
  const Result<bool> seen = file_store().exists(name);
  const bool shared = seen.ok() && *seen;
  const Status checked = ranks.agree(
      "a shared output folder",
      shared
          ? Status(Ok{})
          : Error(err::kOutputFolderNotShared,
                  fmt::format("rank {} on {} does not see the output folder of rank 0 on {}",
                              ranks.share().rank, ranks.host(), file.at("host").get<std::string>()))
                .at("--output_dir " + s.output_dir)
                .todo("name a folder that all hosts share, or a bucket: --output_dir "
                      "gs://BUCKET/FOLDER"));
  if (ranks.leads()) HONE_TRY(file_store().remove(name));
  return checked;
}

}  // namespace

std::vector<std::string> Trainer::optimizer_states(const Session& s) {
  std::vector<std::string> names;
  for (const StateSlot& slot : s.plan().states)
    if (slot.role == Role::moment && slot.shard.begin == slot.shard.held_rows().begin)
      names.push_back(slot.tensor());
  return names;
}

Result<TrainStart> Trainer::find_start(const TrainSettings& s) {
  TrainStart start;
  std::shared_ptr<HostCopies> copies = HONE_TRY(HostCopies::open(s));
  const Json found = HONE_TRY(s.ranks->decide("the place to continue from", [&]() -> Result<Json> {
    start = HONE_TRY(find_in_folder(s, copies.get()));
    return json_of(start);
  }));
  if (!s.ranks->alone()) HONE_TRY(check_shared(s));
  if (!s.ranks->leads()) start = start_from_json(found);
  start.copies = std::move(copies);
  return start;
}

// The newest state that this run saved, if it continues after a crash, in its folder or in memory.
static Status find_own(const TrainSettings& s, const HostCopies* copies, TrainStart& start) {
  if (s.ranks->epoch() <= 1) return Ok{};
  std::string& own = start.checkpoint = HONE_TRY(newest_of_this_run(s.output_dir));
  if (copies == nullptr || !copies->newest()) return Ok{};
  const int64_t saved = step_of_checkpoint_name(own.substr(own.rfind('/') + 1));
  start.in_memory = copies->newest()->first.step > saved;
  if (start.in_memory) own = copies->newest_path();
  return Ok{};
}

Result<TrainStart> Trainer::find_in_folder(const TrainSettings& s, const HostCopies* copies) {
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
            "name another folder, or use --overwrite_output_dir (files of the same names are "
            "replaced, others stay)");
  TrainStart start;
  // One of several runs that start at once gets further.
  HONE_TRY(make_run_folder(s.output_dir));
  start.lock = std::make_shared<RunLock>(HONE_TRY(RunLock::take(s.output_dir)));
  // A checkpoint that was being replaced when its process was killed comes back.
  if (dir.kind != OutputDirKind::foreign_files) HONE_TRY(clean_leftovers(s.output_dir));
  dir = HONE_TRY(classify_output_dir(s.output_dir));
  // After a crash the run's own checkpoints take precedence over the flags.
  HONE_TRY(find_own(s, copies, start));
  const std::string own = start.checkpoint;
  const bool anew = (s.overwrite_output_dir || never) && own.empty();
  if (!asked.empty() && !newest && !never && own.empty()) {
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
    if (anew || ((s.overwrite_output_dir || never) && !is_of_this_run(c.path)))
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
  if (!s.overwrite_output_dir && !never && own.empty())
    HONE_TRY(tell_newer(s.output_dir, start.checkpoint));
  start.finished = dir.kind == OutputDirKind::finished && !anew;
  if (start.finished) start.ended = dir.run;
  return start;
}

// Whether one of these words is of the setting.
static bool is_of(const Json& fingerprint, const std::string& name,
                  std::initializer_list<const char*> words) {
  const Json settings = fingerprint.value("settings", Json::object());
  for (const char* word : words)
    if (settings.value(word, Json::object()).contains(name)) return true;
  return false;
}
// Whether a setting decides the weights of a run, more steps and other evaluations aside.
static bool decides_weights(const Json& fingerprint, const std::string& name) {
  return is_of(fingerprint, name,
               {"source", "reading", "rows", "tokenizer", "order", "model", "update", "bits"});
}

// Whether the two names are of different folders of this machine.
static bool are_other_folders(const Json& a, const Json& b) {
  if (!a.is_string() || !b.is_string() || a == b) return false;
  const std::string x = a.get<std::string>(), y = b.get<std::string>();
  std::error_code unknown;
  return is_folder(x) && is_folder(y) && !std::filesystem::equivalent(x, y, unknown);
}

// The first difference that makes the checkpoint one of another run: its rows, how they are read, or its model.
static std::optional<Difference> other_run(const Json& then, const Json& now,
                                           const std::vector<Difference>& all) {
  for (const Difference& d : all)
    if (d.name == "data" || is_of(now, d.name, {"source", "reading", "rows", "tokenizer", "model"}))
      return d;
  const char* name = "model_name_or_path";
  const auto model_of = [&](const Json& fingerprint) {
    return fingerprint.value("settings", Json::object())
        .value("model", Json::object())
        .value(name, Json());
  };
  if (are_other_folders(model_of(then), model_of(now)))
    return Difference{name, model_of(then), model_of(now)};
  return {};
}

// ": 0.01 then, 0.02 now"; "" if the values tell people nothing.
static std::string after_colon(const Difference& d) {
  const std::string values = d.values();
  return values.empty() ? "" : ": " + values;
}

static Error taken_folder(const std::string& what, const std::string& folder) {
  return Error(err::kOutputFolderTaken, what)
      .at("--output_dir " + folder)
      .todo("name another folder, or start again with --overwrite_output_dir");
}

// Refuses to take a finished run for one with other settings. `continues`: it has checkpoints, so more steps may be
// asked for.
static Status check_same_run(const Json& ended, const Json& now, const std::string& folder,
                             bool continues) {
  if (!ended.is_object()) return Ok{};
  for (const Difference& d : differences(ended, now, false))
    if (!continues || decides_weights(now, d.name))
      return taken_folder(
          fmt::format("a run with {} ended in '{}'{}", d.other(), folder, after_colon(d)), folder);
  return Ok{};
}

// The step after which a checkpoint was saved.
static int64_t step_of(const TrainStart& start) {
  if (start.in_memory) return start.copies->newest()->first.step;
  return step_of_checkpoint_name(start.checkpoint.substr(start.checkpoint.rfind('/') + 1));
}

// Whether the run that ended in the folder has no step left for these settings. H2403: its weights are those of other
// settings, or of more steps.
static Result<bool> nothing_is_left(const TrainStart& start, const TrainSettings& s,
                                    TrainTask& task) {
  if (!start.finished) return false;
  const int64_t total = task.steps().total_steps();
  const bool continues = !start.checkpoint.empty();
  const int64_t ended = start.ended.is_object() ? start.ended.value("total_steps", int64_t{0}) : 0;
  if (continues && ended > total)
    return taken_folder(fmt::format("a run of {} steps ended in '{}', and {} are asked for", ended,
                                    s.output_dir, total),
                        s.output_dir);
  if (continues && step_of(start) < total) {
    // Stopped early, or its last checkpoint is gone; else the command asks for more steps.
    bool whole = false;
    if (start.ended.is_object() && ended == total)
      for (const std::string file : {".safetensors", ".safetensors.index.json"})
        whole =
            HONE_TRY(file_store().exists(s.output_dir + "/" + task.weights_stem() + file)) || whole;
    if (!whole) return false;
  }
  // A new record of the run would name settings that its weights never had.
  HONE_TRY(check_same_run(start.ended, task.fingerprint(), s.output_dir, continues));
  return true;
}

Result<bool> Trainer::begin(const TrainStart& start) {
  discard_ = start.discard;
  lock_ = start.lock;
  copies_ = start.copies;
  const bool has_ended = HONE_TRY(nothing_is_left(start, s_, task_));
  if (s_.memory_save_steps > 0 && !copies_)
    log_warning("memory_save_steps has no effect: hone launch --max_restarts keeps these copies");
  averages_.attach(task_.session(), task_.weight_names());
  if (!start.checkpoint.empty()) HONE_TRY(resume(start));
  if (!has_ended) return false;
  const int64_t total = task_.steps().total_steps();
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

// Keeps what a run's settings were before it was continued: one command alone does not make its weights.
void Trainer::note_continued(const Json& now, const std::vector<Difference>& differ) {
  Json changed = Json::array();
  for (const Difference& d : differ)
    if (is_of(now, d.name, {"length"}) || decides_weights(now, d.name))
      changed.push_back({{"name", d.name}, {"then", d.then}, {"now", d.now}});
  if (!changed.empty()) continued_.push_back({{"step", done_}, {"settings", changed}});
}

Json Trainer::run_facts() const {
  Json run = task_.fingerprint();
  if (!continued_.empty()) run["continued"] = continued_;
  return run;
}

// The weights with those joined that the session has as one.
static std::unique_ptr<WeightSource> joined(std::unique_ptr<WeightSource> weights,
                                            const TrainTask& task) {
  std::vector<StackedTensor> stacked;
  for (const std::string& name : task.weight_names())
    if (is_stacked(name)) stacked.push_back({task.saved_name(name)});
  return join_stacked(std::move(weights), stacked);
}

Status Trainer::load_states(const ResumeState& from, const std::string& checkpoint,
                            bool in_memory) {
  Session& s = task_.session();
  for (const std::string& name : task_.weight_names())
    HONE_TRY(
        read_into(*from.weights, name, s, checkpoint, in_memory ? name : task_.saved_name(name)));
  for (const std::string& name : optimizer_states(s))
    HONE_TRY(read_into(*from.optimizer, name, s, checkpoint));
  return Ok{};
}

// H2405: the checkpoint has weights alone.
static Error no_states(const std::string& checkpoint) {
  return Error(err::kResumeMismatch,
               "the checkpoint has weights but no optimizer state, so the run cannot be continued "
               "from it")
      .at(checkpoint)
      .todo("begin a new run from its weights: --model_name_or_path " + checkpoint);
}

// Opens a checkpoint that rank 0 verifies.
Result<ResumeState> Trainer::open_verified(const std::string& checkpoint) const {
  if (s_.ranks->alone()) return open_checkpoint(checkpoint);
  HONE_TRY(s_.ranks->decide("a whole checkpoint", [&]() -> Result<Json> {
    HONE_TRY(verify_checkpoint(checkpoint));
    return Json();
  }));
  return open_checkpoint(checkpoint, file_store(), true);
}

static Error unreadable_state(const Json::exception& e, const std::string& checkpoint) {
  return Error(err::kResumeMismatch,
               fmt::format("the checkpoint's state cannot be read: {}", e.what()))
      .at(checkpoint);
}

// The differences between the run that wrote the checkpoint and this one. H2405: the checkpoint is of other rows or of
// another model, and was not named.
static Result<std::vector<Difference>> check_continued_run(const Json& state, const Json& now,
                                                           const TrainSettings& s,
                                                           const std::string& checkpoint) {
  try {
    const Json& then = state.at("run");
    std::vector<Difference> differ = differences(then, now);
    if (const auto d = other_run(then, now, differ); d && s.resume_from_checkpoint.empty())
      return Error(err::kResumeMismatch, fmt::format("the checkpoint in '{}' is of a run with {}{}",
                                                     s.output_dir, d->other(), after_colon(*d)))
          .at(checkpoint)
          .todo(
              fmt::format("name another --output_dir, start again with --overwrite_output_dir, or "
                          "continue it all the same with --resume_from_checkpoint {}",
                          checkpoint));
    return differ;
  } catch (const Json::exception& e) {
    return unreadable_state(e, checkpoint);
  }
}

Status Trainer::restore(const ResumeState& from, const std::string& checkpoint) {
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
    if (plateau_) plateau_->restore(state.value("plateau", Json()));
    if (const Json best = state.value("best", Json()); best.is_object()) {
      best_.metric = best.at("metric").get<double>();
      best_.step = best.at("step");
      best_.checkpoint_step = best.at("checkpoint_step");
      if (best_.checkpoint_step > 0 &&
          !HONE_TRY(
              file_store().exists(checkpoint_path(best_.checkpoint_step) + "/" + kManifestFile))) {
        log_warning("the best checkpoint '{}' no longer exists",
                    checkpoint_path(best_.checkpoint_step));
        best_.checkpoint_step = 0;
      }
    }
    const Json listeners = from.trainer_state.value("stateful_callbacks", Json::object());
    for (const auto& c : callbacks_)
      if (listeners.contains(c->name())) c->restore(listeners[c->name()]);
    continued_ = state.at("run").value("continued", Json::array());
  } catch (const Json::exception& e) {
    return unreadable_state(e, checkpoint);
  }
  return Ok{};
}

Status Trainer::resume(const TrainStart& start) {
  const std::string& checkpoint = start.checkpoint;
  ResumeState from =
      HONE_TRY(start.in_memory ? start.copies->open_newest() : open_verified(checkpoint));
  if (from.state.is_null() || !from.weights || !from.optimizer) return no_states(checkpoint);
  const Json now = task_.fingerprint();
  // Comes before the weights: those of another model may not fit, which says less.
  const std::vector<Difference> differ =
      HONE_TRY(check_continued_run(from.state, now, s_, checkpoint));
  if (!start.in_memory) from.weights = joined(std::move(from.weights), task_);
  HONE_TRY(settle_import(from, checkpoint, s_, task_, optimizer_states(task_.session())));
  HONE_TRY(load_states(from, checkpoint, start.in_memory));
  HONE_TRY(restore(from, checkpoint));
  note_continued(now, differ);
  for (const Difference& d : differ)
    log_warning("resume: {}: the bits will differ from those of an uninterrupted run", d.text());
  const Json& state = from.state;
  HONE_TRY(after_loading(done_ - skipped_));
  HONE_TRY(task_.seek(state.contains("data") ? state["data"] : Json(), checkpoint));
  if (from.trainer_state.contains("log_history")) history_ = from.trainer_state["log_history"];
  last_saved_ = start.in_memory ? -1 : done_;  // -1: not in the output folder
  continued_from_ = checkpoint;
  const int64_t total = task_.steps().total_steps();
  log_info("{:<11} from {} (step {}{})", "continue", checkpoint, done_,
           done_ > total ? fmt::format(", {} are asked for", total) : fmt::format(" of {}", total));
  return Ok{};
}

Status Trainer::load_best() {
  if (best_.checkpoint_step == 0) {
    log_warning("no checkpoint of the best evaluation was saved: the last weights stay");
    return Ok{};
  }
  const std::string checkpoint = checkpoint_path(best_.checkpoint_step);
  ResumeState from = HONE_TRY(open_verified(checkpoint));
  from.weights = joined(std::move(from.weights), task_);
  Session& s = task_.session();
  for (const std::string& name : task_.weight_names())
    HONE_TRY(read_into(*from.weights, name, s, checkpoint, task_.saved_name(name)));
  averages_.were_loaded();
  if (best_.checkpoint_step != best_.step) {
    log_warning(
        "no checkpoint of the best evaluation, after step {}, was saved: {} is the final model",
        best_.step, checkpoint);
    return Ok{};
  }
  log_info("{:<11} {} ({} {:.6g}) is the final model", "best", checkpoint, best_metric_of(s_)->name,
           *best_.metric);
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
  const std::unique_ptr<WeightSource> weights = joined(HONE_TRY(open_weights(from)), task_);
  for (const std::string& name : task_.weight_names())
    HONE_TRY(read_into(*weights, name, task_.session(), s_.output_dir, task_.saved_name(name)));
  averages_.were_loaded();
  return Ok{};
}

}  // namespace hone

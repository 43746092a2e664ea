// The start of a run: data, the micro-batch that fits, programs, memory, weights, the summary of the run.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/core/log.h"
#include "base/core/memory.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "engine/backends/backends.h"
#include "engine/comm/errors.h"
#include "engine/device/errors.h"
#include "learn/check/only_special_rows.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "learn/data/rows/count_text.h"
#include "learn/harness/budget/disk_need.h"
#include "learn/harness/budget/errors.h"
#include "learn/harness/budget/stop_notice.h"
#include "learn/harness/collate.h"
#include "learn/harness/run/errors.h"
#include "learn/harness/run/parameters_text.h"
#include "learn/harness/run/task_run.h"
#include "learn/models/adapter_config.h"
#include "learn/pretrained/weights.h"
#include "learn/train/mesh.h"

namespace hone {
namespace {

// Describes weights in few bits in the summary of the run.
std::string frozen_text(const ModelConfig& config) {
  std::set<std::string> schemes;
  for (const ParamSpec& spec : family_of(config).params(config))
    if (!spec.scheme.empty()) schemes.insert(spec.scheme);
  const std::vector<std::string> names(schemes.begin(), schemes.end());
  return names.empty() ? "" : fmt::format("; weights in {} are frozen", join(names, ", "));
}

// "8", or "4 to 16" of layers that differ.
std::string ranks_text(const ModelConfig& config) {
  int64_t least = kLargestSize, most = 0;
  std::vector<std::string> names = adapted_layers(config);
  for (const std::string& name : adapted_parameters(config)) names.push_back(name);
  for (const std::string& name : names) {
    const int64_t rank = config.adapter->rank_of(name);
    least = std::min(least, rank), most = std::max(most, rank);
  }
  return least < most ? fmt::format("{} to {}", least, most) : fmt::format("{}", most);
}

// NCCL has messages of NVIDIA GPUs alone, and nothing else has them.
Status check_engine(const std::string& engine, const DeviceSpec& device) {
  const bool is_gpu = device.kernels == "cuda";
  if (engine.empty() || (engine == "nccl") == is_gpu) return Ok{};
  return Error(err::kCommEngine, fmt::format("{} carries no messages between {}", engine,
                                             is_gpu ? "GPUs" : "ranks without a GPU"))
      .at(fmt::format("--ddp_backend {}, device {}", engine, device.name))
      .todo("leave --ddp_backend out, or name another --device");
}

}  // namespace

Result<std::unique_ptr<TaskRun>> TaskRun::open(const Task& task, Pretrained model,
                                               bool from_scratch) {
  std::unique_ptr<TaskRun> run(new TaskRun(task));
  HONE_TRY(run->start(std::move(model), from_scratch));
  return run;
}

// A model that was never trained on the task cannot be evaluated; its labels say nothing of the rows.
Status TaskRun::check_head() const {
  if (s_.do_train || !model_.weights) return Ok{};
  const std::string flag = fmt::format("--{} {}", task_.is_preset ? "preset" : "task", task_.name);
  if (std::optional<Error> e = missing_head(*model_.weights, model_.config, flag))
    return std::move(*e);
  return Ok{};
}

Status TaskRun::start(Pretrained model, bool from_scratch) {
  HONE_TRY(set_mesh(s_));
  model_ = std::move(model);
  backend_ = ranks().take_backend();
  if (!backend_)
    backend_ = HONE_TRY(open_device(s_.device_here(), {.threads = static_cast<int>(s_.threads)}));
  // Must come before the data are in memory: measuring needs some memory.
  if (s_.do_train && ranks().leads())
    speeds_ = machine_speeds(*backend_, SpeedsWanted::of(s_, s_.auto_fit));
  const ModelConfig& config = model_.config;
  parameters_outside_embeddings_ = parameter_count(config, false);
  log_info("{:<11} {}: {}, {}; {}", "model", model_.name, config.text("model_type", config.family),
           parameters_text(config), backend_->description());
  if (config.adapter) {
    int64_t trained = 0;
    for (const UpdateWeight& w : update_weights(config)) trained += w.type.count();
    const size_t parameters = adapted_parameters(config).size();
    log_info("{:<11} {} of rank {} in {} layers{}: {:.3f} million parameters are trained{}",
             "adapter", config.adapter->dora ? "DoRA" : "LoRA", ranks_text(config),
             adapted_layers(config).size(),
             parameters == 0 ? "" : fmt::format(" and {} stacked matrices of experts", parameters),
             static_cast<double>(trained) / 1e6, frozen_text(config));
  }
  const RunForm form = HONE_TRY(task_.form(model_));
  if (const RowLimit& limit = form.limits[0]; limit.given > config.max_positions)
    log_warning("--{} {} is more than the model's {} positions: {} is used", limit.flag,
                limit.given, config.max_positions, limit.tokens);
  set_memory_ceiling(reading_ceiling(s_));
  HONE_TRY(check_head());
  // Columns that another task read say nothing of these rows.
  if (model_.trained.task != task_.name) model_.trained.columns.clear();
  {
    const HostWork work(ranks().control(), "reading the rows");
    examples_ = HONE_TRY(task_.examples(model_, {backend_->device().pool()}));
  }
  set_memory_ceiling(kNoLimit);
  if (family_of(config).reads_text)
    for (const auto* rows : {&examples_.train, &examples_.eval})
      if (*rows) HONE_TRY(check_ids(**rows, config));
  if (s_.do_train && examples_.train && model_.tokenizer)
    HONE_TRY(check_special_rows(examples_.train->axes, *model_.tokenizer, s_));
  feed_.emplace(HONE_TRY(RowFeed::make(s_, examples_)));
  made_.emplace(HONE_TRY(TaskModel::make(task_, model_, backend_->spec())));
  return compile(from_scratch);
}

RunShapes TaskRun::shapes_for(int64_t rows, bool whole) const {
  if (s_.streaming)
    return shapes_without_data(*made_, row_tokens(), rows, whole, s_.do_train, s_.do_eval);
  return shapes_of_data(*made_, examples_, feed_->steps() ? &*feed_->steps() : nullptr, rows,
                        whole);
}

int64_t TaskRun::data_bytes() const {
  int64_t rows = 0;
  for (const auto* all : {&examples_.train, &examples_.eval})
    if (*all)
      for (const TokenRows& axis : (*all)->axes) rows += axis.memory_bytes();
  return std::max<int64_t>(rows - kRowsBudget, 0) + stream_bytes(s_, row_tokens()) +
         examples_.held_bytes;
}

// The split of the checkpoint to resume, or the largest that fits.
Result<Fit> TaskRun::choose_split(const ArenaLimits& limits, int64_t wanted) {
  std::optional<Split> keep = s_.do_train ? s_.split : std::nullopt;
  if (keep && (s_.split_invariant > 0 || wanted % keep->rows != 0))
    keep.reset();  // of another batch
  const auto shapes = [&](int64_t rows, bool whole) { return shapes_for(rows, whole); };
  Fit fit = HONE_TRY(fit_run(*made_, *backend_, wanted, limits, shapes, keep));
  split_ = {fit.rows, fit.whole};
  if (!keep || fit.rows == 0 || fit.rows == keep->rows || s_.allow_other_bits) return fit;
  RunShapes least = shapes(keep->rows, keep->whole);
  least.budgets.train_bytes = 0;
  const RunPlan plan = HONE_TRY(plan_of(*made_, *backend_, least));
  return Error(err::kOtherSplit,
               fmt::format(
                   "the run was trained in micro-batches of {} rows: they need {} at least, {} "
                   "may be used",
                   keep->rows, format_bytes(memory_of(plan, backend_->spec())),
                   format_bytes(std::max<int64_t>(limits.device, 0))))
      .at(s_.continued_from)
      .todo(
          "free memory or raise --device_memory; with --allow_other_bits the run continues in "
          "smaller micro-batches");
}

PlacementSearch TaskRun::search_of(const ArenaLimits& limits, int64_t wanted) const {
  return {.model = *made_,
          .backend = *backend_,
          .limits = limits,
          // All ranks choose the same.
          .speeds = speeds_ && ranks().alone() ? speeds_->speeds : kTypicalCpu,
          .wanted_rows = wanted,
          .shapes = [this](const TaskModel&, int64_t rows, bool whole) {
            return shapes_for(rows, whole);
          }};
}

DiskNeed TaskRun::disk_need_of(const RunPlan& plan) const {
  return disk_need(s_, plan, weight_names(), feed_->steps()->total_steps(),
                   feed_->steps()->epochs());
}

Status TaskRun::check_disk(const RunPlan& plan) const {
  int64_t existing = 0;
  if (HONE_TRY(file_store().exists(s_.output_dir)))
    existing = static_cast<int64_t>(HONE_TRY(find_checkpoints(s_.output_dir)).size());
  return check_disk_need(s_, disk_need_of(plan), free_disk_bytes(s_.output_dir), existing);
}

Status TaskRun::predict_time(const RunPlan& plan, std::span<const Program> programs) {
  HONE_TRY(most_seconds(s_));
  if (!speeds_ && s_.stop_notice <= 0) return Ok{};
  Speeds speeds = speeds_ ? speeds_->speeds : Speeds();
  const StepTimes times = speeds_ ? step_times(programs, shapes_, speeds) : StepTimes();
  if (s_.stop_notice > 0) {
    speeds.disk_write_bytes_per_second = HONE_TRY(measure_save_speed(s_.output_dir));
    const int64_t bytes = disk_need_of(plan).checkpoint_bytes;
    StopTime stop =
        stop_time(times, static_cast<double>(bytes) / speeds.disk_write_bytes_per_second,
                  !file_store().renames_folders_at_once(s_.output_dir));
    stop.checkpoint_bytes = bytes;
    report_stop_time(s_, stop);
  }
  if (!speeds_) return Ok{};
  const double micro_batches = micro_batches_of(s_, s_.rank_rows(), shapes_.train.max_rows);
  const double step = HONE_TRY(mean_step_seconds(s_, times, shapes_.train, *feed_, micro_batches));
  RunLength length = length_of(*feed_, examples_);
  if (!s_.continued_from.empty())
    length.done = std::max<int64_t>(
        0,
        step_of_checkpoint_name(s_.continued_from.substr(s_.continued_from.find_last_of('/') + 1)));
  time_ = run_time(s_, length, disk_need_of(plan), step,
                   evaluation_seconds(s_, times, shapes_.eval, length.eval_rows), speeds);
  log_info("{:<11} {}, predicted", "time", time_->text(s_.price_per_hour));
  return check_time(s_, *time_);
}

Status TaskRun::choose_placement(const ArenaLimits& limits, int64_t wanted) {
  PlacementSearch search = search_of(limits, wanted);
  if (s_.split && wanted % s_.split->rows == 0) search.keep = s_.split;
  const Placements found = HONE_TRY(try_placements(search));
  if (!found.best) return Ok{};
  const TriedPlacement& best = found.tried[*found.best];
  const std::string flags = best.how.flags(Placement::of(s_));
  log_info("{:<11} {} of {} choices: {}", "auto", *found.best + 1, found.tried.size(),
           flags.empty() ? "the settings as they are" : flags);
  best.how.put_into(*task_.settings);
  return Ok{};
}

// "--flags fits; or ", by the first placement that fits; "" if none does.
std::string TaskRun::fitting_placement(const ArenaLimits& limits, int64_t wanted) const {
  PlacementSearch search = search_of(limits, wanted);
  search.first_that_fits = true;
  const Result<Placements> nearest = try_placements(search);
  if (!nearest.ok() || !nearest->best) return "";
  const Placement& how = nearest->tried[*nearest->best].how;
  // A flag must not contradict a DeepSpeed configuration, so its keys for placement must be removed.
  return s_.deepspeed.empty()
             ? fmt::format("{} fits; or ", how.flags(Placement::of(s_)))
             : fmt::format(
                   "{} fits, with offload_optimizer, offload_param and "
                   "activation_checkpointing taken out of the --deepspeed file; or ",
                   how.flags());
}

// The given limits of memory that are too small, with values that are enough.
std::vector<std::string> TaskRun::enough_memory(const Needs& needs,
                                                const ArenaLimits& limits) const {
  const auto mebibytes = [](int64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; };
  const int64_t runtime = kRuntimeBudget + data_bytes();
  std::vector<std::string> enough;
  if (s_.device_memory && needs.device > limits.device)
    enough.push_back(fmt::format("--device_memory {}MiB",
                                 mebibytes(needs.device + (limits.shared ? runtime : 0))));
  if (s_.host_memory && (limits.shared ? !s_.device_memory : needs.host > limits.host))
    enough.push_back(fmt::format("--host_memory {}MiB",
                                 mebibytes((limits.shared ? needs.device : needs.host) + runtime)));
  return enough;
}

Error TaskRun::does_not_fit(const Fit& fit, const ArenaLimits& limits, int64_t wanted) const {
  const Needs needs = needs_of(fit.plan, backend_->spec(), limits);
  const int64_t unit = s_.do_train ? std::max<int64_t>(s_.split_invariant, 1) : 1;
  Error e(err::kDoesNotFit, needs_text(needs, row_size_text(made_->form), limits, unit));
  const std::string smaller =
      fmt::format("a smaller {}--{} or model", unit > 1 ? "--split_invariant, " : "",
                  made_->form.limits[0].flag);
  const std::string fits = fitting_placement(limits, wanted);
  const int64_t rows = data_bytes() - stream_bytes(s_, row_tokens());
  const std::vector<std::string> enough = enough_memory(needs, limits);
  if (enough.empty())
    return std::move(e.todo(
        fmt::format("{}use {}{}, or a machine with more {}; hone plan shows what a run needs", fits,
                    rows > 0 ? "--streaming, " : "", smaller,
                    needs.disk > limits.disk ? "free space in " + s_.offload_folder() : "memory")));
  for (const auto& [name, size] :
       {std::pair{"device", &s_.device_memory}, {"host", &s_.host_memory}})
    if (*size)
      e.at(fmt::format(
          "--{}_memory {}{}", name, format_bytes(static_cast<int64_t>((*size)->bytes)),
          !limits.shared && size == &s_.device_memory
              ? ""
              : fmt::format(", of which the runtime may take {}{}", format_bytes(kRuntimeBudget),
                            rows > 0 ? fmt::format(" and the rows {}", format_bytes(rows)) : "")));
  return std::move(e.todo(fmt::format("{}give {}, or {}{}", fits, join(enough, " "), smaller,
                                      rows > 0 ? ", or --streaming" : "")));
}

// The line "memory" of the summary of the run, and the table below it with --verbose.
void TaskRun::log_memory(const Fit& fit, const ArenaLimits& limits, const SaveCopy& copy) const {
  std::string elsewhere;
  for (const Space space : {Space::host, Space::disk})
    if (const int64_t bytes = fit.plan.arena_bytes(space); bytes > 0)
      elsewhere += fmt::format("{} {} on {}", elsewhere.empty() ? ";" : ",", format_bytes(bytes),
                               name_of(space));
  const int64_t most =
      limits.shared || limits.host == kNoLimit ? limits.device : limits.device + limits.host;
  log_info("{:<11} {} planned of {}{}", "memory",
           format_bytes(memory_of(fit.plan, backend_->spec()) + copy.bytes()),
           format_bytes(std::max<int64_t>(most, 0)), elsewhere);
  if (const std::string full = full_host_text(fit.plan, s_.offload()); !full.empty())
    log_info("{:<11} {}", "memory", full);
  const auto row = [](std::string_view purpose, const std::string& bytes) {
    log_debug("{:<11} {:<14} {:>11}", "memory", purpose, bytes);
  };
  for (const auto& [purpose, bytes] : fit.plan.by_purpose())
    if (bytes > 0) row(purpose, format_bytes(bytes));
  const int64_t stream = stream_bytes(s_, row_tokens()), data = data_bytes() - stream;
  if (stream > 0) row("stream", format_bytes(stream));
  if (data > 0) row("rows", format_bytes(data));
  if (copy.needed > 0) row("save copy", copy.text());
  row("runtime", "at most " + format_bytes(kRuntimeBudget));
}

// The line "microbatch" of the summary of the run.
void TaskRun::log_micro_batch(int64_t fitting, int64_t wanted) const {
  // A micro-batch that holds all data has no more rows than the data.
  const bool counted = s_.do_train && !s_.streaming;
  const int64_t rows = counted ? std::min(fitting, feed_->train_rows()) : fitting;
  log_info("{:<11} {} of {}{}", "microbatch", count_of(rows, "row"),
           (made_->form.row_text.empty() ? "at most " : "") + row_size_text(made_->form),
           fitting < wanted && shapes_.units == 0
               ? fmt::format(" ({} of them make the {} rows of a batch)", wanted / fitting, wanted)
               : "");
}

// Takes the memory of the run and of the copy.
Status TaskRun::allocate(std::vector<Program> programs, const SaveCopy& copy) {
  const HostWork work(ranks().control(), "compiling");
  if (ranks().group()) HONE_TRY(check_engine(s_.ddp_backend, backend_->spec()));
  backend_->device().set_group(ranks().group());
  session_ = HONE_TRY(Session::compile(std::move(programs), *backend_));
  session_->set_parts(HONE_TRY(parts_of_weights(*made_, shapes_)).weights);
  const MemoryReading before = read_memory();
  bytes_before_arena_ = before.rss_anon_bytes + before.rss_shmem_bytes;
  if (Status taken = session_->allocate(s_.offload_folder()); !taken.ok())
    return std::move(taken.error())
        .todo(
            taken.error().is(err::kNoDisk)
                ? "free space, or name a folder on another disk with --offload_optimizer_nvme_path"
                : fmt::format("free memory, or use a smaller --per_device_train_batch_size or "
                              "--{}; hone plan shows what fits",
                              made_->form.limits[0].flag));
  if (copy.bytes() > 0) {
    auto taken = backend_->device().allocate(Space::host, copy.bytes());
    if (taken.ok())
      save_copy_ = std::move(*taken);
    else
      log_warning("steps wait until a checkpoint is written: {}", taken.error().text());
  }
  return Ok{};
}

// Gives the weights their first values: of the model folder, or random ones.
Status TaskRun::fill_weights(bool from_scratch) {
  if (from_scratch) {
    HONE_TRY(init_weights(*session_, model_.config, static_cast<uint64_t>(s_.seed)));
    fill_constants(*session_, model_.config);
    return load_adapter(*session_, model_);
  }
  // A body that was trained alone, or with another head, gets a new head to train.
  NewHead head{static_cast<uint64_t>(s_.seed), made_->form.replaces_head};
  HONE_TRY(load_weights(*session_, model_, nullptr, s_.do_train ? &head : nullptr));
  // The checkpoint that the run continues from has these weights.
  const bool begins = s_.continued_from.empty() && !s_.has_ended;
  if (const std::string text = new_weights_text(model_, head); begins && !text.empty())
    log_warning("{}", text);
  if (const auto more = unused_layers(*model_.weights, model_.config); !more.empty())
    log_warning(
        "the checkpoint has more layers than config.json: {} weights are not used, such as {}",
        more.size(), more[0]);
  return Ok{};
}

Status TaskRun::compile(bool from_scratch) {
  HONE_TRY(check_memory_flags(s_));
  ArenaLimits limits = limits_of(s_, backend_->spec(), data_bytes());
  limits.disk = free_disk_bytes(s_.offload_folder());
  limits = HONE_TRY(limits_of_ranks(limits));
  const int64_t wanted = s_.do_train ? s_.rank_rows() : s_.per_device_eval_batch_size;
  if (s_.auto_fit && s_.do_train) HONE_TRY(choose_placement(limits, wanted));
  Fit fit = HONE_TRY(choose_split(limits, wanted));
  HONE_TRY(agree_on(fit, limits, wanted));
  const SaveCopy copy = fit.rows > 0 && ranks().alone() && saves_beside_training(s_)
                            ? plan_save_copy(s_, fit.plan, weight_names(), backend_->spec(), limits)
                            : SaveCopy();
  log_memory(fit, limits, copy);
  if (fit.rows == 0) return does_not_fit(fit, limits, wanted);
  if (s_.do_train && ranks().leads()) HONE_TRY(check_disk(fit.plan));
  shapes_ = shapes_for(split_.rows, split_.whole);
  log_micro_batch(fit.rows, wanted);
  shapes_.budgets = fit.budgets;
  std::vector<Program> programs = HONE_TRY(run_programs(*made_, shapes_));
  if (const std::string again = recomputed(programs).text(); !again.empty())
    log_info("{:<11} {}", "recompute", again);
  if (s_.do_train && ranks().leads()) HONE_TRY(predict_time(fit.plan, programs));
  HONE_TRY(allocate(std::move(programs), copy));
  if (const std::string how = backend_->device().disk_access(); !how.empty())
    log_debug("{:<11} {:<14} {}", "memory", "disk access", how);
  bind_programs();
  from_scratch_ = from_scratch;
  HONE_TRY(fill_weights(from_scratch));
  return examples_.opened(*this);
}

void TaskRun::bind_programs() {
  const auto bind = [&](const std::string& name) {
    const size_t index = session_->program_index(name);
    return BoundProgram{index, inputs_of(*session_, index)};
  };
  for (const BatchShape& shape : shapes_.train_shapes(made_->form)) {
    if (!shapes_.accumulate) {
      step_programs_.push_back(bind(program_name("step", shape)));
      continue;
    }
    train_programs_.push_back(bind(program_name("train", shape)));
    accumulate_programs_.push_back(bind(program_name("accumulate", shape)));
  }
  if (!train_programs_.empty()) update_program_ = bind("update");
  if (task_.joint && shapes_.accumulate) bind_joint();
  for (const BatchShape& shape : shapes_.eval.shapes)
    eval_programs_.push_back(bind(program_name("eval", shape)));
  examples_.reserve(shapes_);
  lengths_.resize(made_->form.limits.size());
  // Reserves the largest need of a step, so that no later step allocates.
  if (!s_.do_train) return;
  const auto most = static_cast<size_t>(feed_->steps()->rows_per_step());
  feed_->reserve();
  for (std::vector<int64_t>& lengths : lengths_) lengths.reserve(most);
  rows_.reserve(static_cast<size_t>(shapes_.train.max_rows));
  reserve_step(most, shapes_.train, plan_);
  unit_losses_.resize(static_cast<size_t>(most_rounds()));
  own_rows_.reserve(most);
}

}  // namespace hone

#include "learn/harness/budget/plan_time.h"

#include <filesystem>

#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "learn/data/rows/count_text.h"
#include "learn/harness/budget/errors.h"
#include "learn/harness/budget/limits.h"

namespace hone {
namespace {

bool names_data(const Task& task) {
  const Schema schema = described(task);
  const TaskSettings& s = *task.settings;
  if (!s.train_file.empty()) return true;
  if (!s.dataset_name.empty()) return path_exists(s.dataset_name);
  for (const char* own : {"data_dir", "train_data_file"})
    for (const Setting& setting : schema.all())
      if (setting.name == own && setting.value() != "" && !setting.value().empty()) return true;
  return false;
}

Result<int64_t> checkpoints_in(const std::string& folder) {
  if (folder.empty() || !HONE_TRY(file_store().exists(folder))) return 0;
  return std::ssize(HONE_TRY(find_checkpoints(folder)));
}

}  // namespace

Result<std::unique_ptr<PlanData>> read_plan_data(const Task& task, Pretrained& model,
                                                 const Backend* here) {
  const TaskSettings& s = *task.settings;
  if (!s.do_train || s.streaming || !names_data(task)) return std::unique_ptr<PlanData>();
  auto data = std::make_unique<PlanData>();
  if (!here) data->pool = std::make_unique<ThreadPool>();
  data->examples = HONE_TRY(task.examples(model, {here ? here->device().pool() : *data->pool}));
  data->feed.emplace(HONE_TRY(RowFeed::make(s, data->examples)));
  return data;
}

Result<PlannedTime> plan_time(const TaskModel& m, const RunLength& length, const RunPlan& plan,
                              double step_seconds, double evaluation_seconds,
                              const DeviceSpec& device, bool is_here) {
  const TaskSettings& s = m.settings();
  PlannedTime t;
  t.length = length;
  t.at_least = device.ops == nullptr;
  const DiskNeed disk = disk_need(s, plan, saved_weights(m.config), length.steps, length.epochs);
  t.time = run_time(s, length, disk, step_seconds, evaluation_seconds, device);
  if (Status fits = check_time(s, t.time); !fits.ok()) {
    if (!fits.error().is(err::kTakesTooLong)) return fits.error();
    t.too_long = fits.error();
  }
  if (is_here && s.do_train && t.time.steps > 0) {
    t.free_disk = free_disk_bytes(s.output_dir);
    const int64_t existing = HONE_TRY(checkpoints_in(s.output_dir));
    if (Status room = check_disk_need(s, disk, *t.free_disk, existing); !room.ok())
      t.too_large = room.error();
  }
  return t;
}

OrderedJson time_json(const TaskSettings& s, const PlannedTime& t) {
  OrderedJson j = t.time.json(s.price_per_hour);
  j["train_rows"] = t.length.train_rows;
  j["fits"] = t.fits();
  return j;
}

std::string time_text(const TaskSettings& s, const PlannedTime& t) {
  const RunTime& time = t.time;
  if (time.steps == 0)
    return s.do_train ? fmt::format(
                            "the run: its number of steps is not known; for its time{} give "
                            "--max_steps, --max_train_samples or rows on this machine\n",
                            s.price_per_hour > 0 ? " and price" : "")
                      : "";
  const char* about = t.at_least ? "at least" : "about";
  std::string text =
      fmt::format("the run: {}, {} of training rows, {} {}", count_of(time.steps, "step"),
                  count_of(time.tokens, "token"), about, format_duration(time.seconds()));
  if (s.price_per_hour > 0)
    text += fmt::format(
        "; costs {} at {:g} an hour{}", price_text(time.cost(s.price_per_hour)), s.price_per_hour,
        time.machines > 1 ? fmt::format(" for each of {} machines", grouped(time.machines)) : "");
  text += "\n";
  const auto line = [&](const std::string& what, double seconds) {
    text += fmt::format("  {:<58} {:>10}\n", what, format_duration(seconds));
  };
  line("training", time.training_seconds());
  if (time.load_seconds > 0)
    line(fmt::format("loading {}", format_bytes(time.model_bytes)), time.load_seconds);
  if (time.evaluations > 0)
    line(count_of(time.evaluations, "evaluation"),
         time.evaluation_seconds * static_cast<double>(time.evaluations));
  if (time.checkpoints_written > 0)
    line(fmt::format("saving {} of {}", count_of(time.checkpoints_written, "checkpoint"),
                     format_bytes(time.checkpoint_bytes)),
         time.save_seconds * static_cast<double>(time.checkpoints_written));
  line(fmt::format("saving the model of {}", format_bytes(time.model_bytes)), time.model_seconds);
  const int64_t at_a_time = time.model_bytes + time.checkpoints_kept * time.checkpoint_bytes;
  text += fmt::format("  {} on disk at a time{}\n", format_bytes(at_a_time),
                      t.free_disk.value_or(kNoLimit) == kNoLimit
                          ? ""
                          : fmt::format(", {} are free", format_bytes(*t.free_disk)));
  const auto refused = [&](const char* how, const std::optional<Error>& why) {
    if (why) text += fmt::format("{}: {}\n  do   {}\n", how, why->what(), why->remedy());
  };
  refused("takes too long", t.too_long);
  refused("does not fit on the disk", t.too_large);
  return text;
}

}  // namespace hone

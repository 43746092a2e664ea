#include "learn/harness/budget/plan_time.h"

#include <filesystem>

#include "base/core/text.h"
#include "base/store/store.h"
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
                              const DeviceSpec& device) {
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
  return t;
}

OrderedJson time_json(const TaskSettings& s, const PlannedTime& t) {
  OrderedJson j = t.time.json(s.price_per_hour);
  j["train_rows"] = t.length.train_rows;
  j["fits"] = !t.too_long;
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
    text += fmt::format("; costs {} at {:g} an hour", price_text(time.cost(s.price_per_hour)),
                        s.price_per_hour);
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
  text +=
      fmt::format("  {} on disk at a time, {} are free\n",
                  format_bytes(time.model_bytes + time.checkpoints_kept * time.checkpoint_bytes),
                  format_bytes(free_disk_bytes(s.output_dir)));
  if (t.too_long)
    text +=
        fmt::format("takes too long: {}\n  do   {}\n", t.too_long->what(), t.too_long->remedy());
  return text;
}

}  // namespace hone

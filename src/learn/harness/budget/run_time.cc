#include "learn/harness/budget/run_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/core/text.h"
#include "base/settings/errors.h"
#include "learn/data/batches/rank_rows.h"
#include "learn/data/rows/count_text.h"
#include "learn/harness/budget/errors.h"
#include "learn/train/run_ranks.h"

namespace hone {
namespace {

constexpr double kHour = 3600;
constexpr double kMuchSlower = 3;  // times the prediction: the processors are not free

// Counts the micro-batches of steps.
class StepCounter {
 public:
  explicit StepCounter(size_t shapes) { restart(shapes); }
  void restart(size_t shapes) {
    runs_.first.assign(shapes, 0);
    runs_.more.assign(shapes, 0);
    begun_ = false;
  }
  void add(size_t shape, double batches = 1) {
    if (runs_.first.empty() || batches <= 0) return;
    shape = std::min(shape, runs_.first.size() - 1);
    if (!begun_) {
      runs_.first[shape] = 1;
      batches -= 1;
      begun_ = true;
    }
    runs_.more[shape] += std::max(0.0, batches);
  }
  const StepRuns& runs() const { return runs_; }

 private:
  StepRuns runs_;
  bool begun_ = false;
};

double sum_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

int64_t machines_of(const TrainSettings& s) {
  const int64_t here = std::max<int64_t>(1, s.ranks->local_ranks());
  return (s.ranks->share().ranks + here - 1) / here;
}

int64_t times_in(double interval, int64_t steps) {
  if (interval <= 0) return 0;
  const auto all = static_cast<double>(steps);
  return static_cast<int64_t>(all /
                              std::max(1.0, interval < 1 ? std::ceil(interval * all) : interval));
}

}  // namespace

double StepRuns::micro_batches() const { return sum_of(first) + sum_of(more); }

double StepTimes::of(const StepRuns& runs) const {
  return std::inner_product(runs.first.begin(), runs.first.end(), first.begin(), 0.0) +
         std::inner_product(runs.more.begin(), runs.more.end(), more.begin(), 0.0) +
         sum_of(runs.first) * update;
}

StepTimes step_times(std::span<const Program> programs, const RunShapes& shapes,
                     const Speeds& speeds, const LinkSpeeds& links) {
  return step_amounts(programs, shapes,
                      [&](const Program& p) { return run_seconds(p, speeds, links); });
}

StepTimes step_amounts(std::span<const Program> programs, const RunShapes& shapes,
                       FunctionRef<double(const Program&)> amount) {
  StepTimes times;
  const auto of_program = [&](const std::string& name) {
    for (const Program& p : programs)
      if (p.name == name) return amount(p);
    return 0.0;
  };
  for (const BatchShape& shape : shapes.train.shapes) {
    const char* kind = shapes.accumulate ? "train" : "step";
    const double embed = of_program(program_name("embed", shape));
    times.first.push_back(embed + of_program(program_name(kind, shape)));
    times.more.push_back(shapes.accumulate ? embed + of_program(program_name("accumulate", shape))
                                           : times.first.back());
  }
  times.update = of_program("joint") + of_program("update");
  if (!shapes.eval.empty())
    times.evaluation = of_program(program_name("eval", shapes.eval.largest()));
  return times;
}

StepRuns mean_step_runs(const StepTimes& times, double micro_batches) {
  StepCounter step(times.first.size());
  step.add(std::numeric_limits<size_t>::max(), std::max(1.0, micro_batches));
  return step.runs();
}

Result<StepRuns> mean_step_runs(const TrainSettings& s, const StepTimes& times,
                                const BatchGrid& grid, RowFeed& feed, double micro_batches) {
  if (feed.streams() || !feed.steps() || grid.empty() || feed.steps()->total_steps() == 0)
    return mean_step_runs(times, micro_batches);
  constexpr int64_t kLooked = 64;
  const int64_t steps = feed.steps()->total_steps(), looked = std::min(kLooked, steps);
  const size_t shapes = times.first.size();
  StepCounter step(shapes);
  StepRuns mean = step.runs(), slowest;
  std::vector<std::vector<int64_t>> lengths;
  std::vector<int64_t> own;
  StepPlan plan;
  const auto count_rank = [&](const TakenRows& taken, const Share& rank) {
    own.clear();
    add_rows_of_rank(taken.rows.rows, s.batch_rows(), rank, own);
    lengths.assign(taken.data->axes.size(), {});
    for (size_t a = 0; a < lengths.size(); ++a)
      for (const int64_t row : own) lengths[a].push_back(taken.data->axes[a].length(row));
    plan_step(lengths, grid, plan);
    step.restart(shapes);
    for (const MicroBatchPlan& batch : plan.batches) step.add(batch.shape);
  };
  const int64_t ranks = s.ranks->data().ranks;
  for (int64_t i = 0; i < looked; ++i) {
    const TakenRows taken = HONE_TRY(feed.rows_of_step(i * steps / looked));
    double most = -1;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      count_rank(taken, {rank, ranks});
      if (times.of(step.runs()) <= most) continue;
      most = times.of(step.runs());
      slowest = step.runs();
    }
    for (size_t k = 0; k < shapes; ++k) {
      mean.first[k] += slowest.first[k] / static_cast<double>(looked);
      mean.more[k] += slowest.more[k] / static_cast<double>(looked);
    }
  }
  return mean;
}

double mean_step_seconds(const StepTimes& times, double micro_batches) {
  return times.of(mean_step_runs(times, micro_batches));
}

Result<double> mean_step_seconds(const TrainSettings& s, const StepTimes& times,
                                 const BatchGrid& grid, RowFeed& feed, double micro_batches) {
  return times.of(HONE_TRY(mean_step_runs(s, times, grid, feed, micro_batches)));
}

double evaluation_seconds(const TrainSettings& s, const StepTimes& times, const BatchGrid& grid,
                          int64_t rows) {
  if (grid.empty()) return 0;
  const int64_t at_once = grid.max_rows * s.ranks->data().ranks;
  return times.evaluation * std::ceil(static_cast<double>(rows) / static_cast<double>(at_once));
}

RunLength length_without_data(const TaskSettings& s, int64_t row_tokens) {
  RunLength length;
  const int64_t rows_per_step = s.batch_rows() * s.gradient_accumulation_steps;
  length.eval_rows = std::max<int64_t>(s.max_eval_samples, 0);
  if (s.max_train_samples > 0) {
    length.train_rows = s.max_train_samples;
    const Result<StepCount> count =
        StepCount::make({s.max_train_samples, s.batch_rows(), s.gradient_accumulation_steps,
                         s.num_train_epochs, s.max_steps, s.dataloader_drop_last});
    if (!count.ok()) return length;
    length.steps = count->total_steps();
    length.epochs = count->epoch_after(length.steps);
  } else if (s.max_steps > 0) {
    length.steps = s.max_steps;
    length.train_rows = s.max_steps * rows_per_step;
    length.epochs = 1;
  }
  length.tokens = length.train_rows * row_tokens;
  return length;
}

RunLength length_of(const RowFeed& feed, const Examples& examples) {
  RunLength length;
  if (feed.steps()) {
    length.steps = feed.steps()->total_steps();
    length.epochs = feed.steps()->epoch_after(length.steps);
  }
  length.train_rows = feed.train_rows();
  if (examples.train)
    for (int64_t row = 0; row < examples.train->size(); ++row)
      length.tokens += examples.train->axes[0].length(row);
  if (examples.eval) length.eval_rows = std::min(examples.evaluated, examples.eval->size());
  return length;
}

std::string rate_text(double rate) {
  if (rate >= 999.95) return grouped(std::llround(rate));
  const int before = rate > 0 ? static_cast<int>(std::floor(std::log10(rate))) + 1 : 1;
  std::string text = fmt::format("{:.{}f}", rate, std::clamp(4 - before, 0, 15));
  if (text.find('.') == text.npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string price_text(double price) {
  int digits = 2;
  for (double shown = price; shown > 0 && shown < 0.1 && digits < 12; shown *= 10) ++digits;
  std::string text = fmt::format("{:.{}f}", price, digits);
  for (; digits > 2 && text.ends_with('0'); --digits) text.pop_back();
  return text;
}

double RunTime::seconds() const {
  if (steps == 0) return 0;
  return load_seconds + training_seconds() + evaluation_seconds * static_cast<double>(evaluations) +
         save_seconds * static_cast<double>(checkpoints_written) + model_seconds;
}

RunTime run_time(const TaskSettings& s, const RunLength& length, const DiskNeed& disk,
                 double step_seconds, double evaluation_seconds, const Speeds& speeds) {
  const auto seconds_for = [](int64_t bytes, double speed) {
    return speed > 0 ? static_cast<double>(bytes) / speed : 0.0;
  };
  RunTime t;
  t.step_seconds = step_seconds;
  t.machines = machines_of(s);
  t.steps = std::max<int64_t>(length.steps - length.done, 0);
  const double share =
      length.steps > 0 ? static_cast<double>(t.steps) / static_cast<double>(length.steps) : 0;
  t.tokens = std::llround(static_cast<double>(length.tokens) * length.epochs * share);
  t.model_bytes = disk.model_bytes;
  t.checkpoint_bytes = disk.checkpoint_bytes;
  t.checkpoints_kept = disk.checkpoints;
  t.checkpoints_written = std::llround(static_cast<double>(disk.written) * share);
  if (!s.model_name_or_path.empty())
    t.load_seconds = seconds_for(disk.model_bytes, speeds.disk_read_bytes_per_second);
  t.save_seconds = seconds_for(disk.checkpoint_bytes, speeds.disk_write_bytes_per_second);
  t.model_seconds = seconds_for(disk.model_bytes, speeds.disk_write_bytes_per_second);
  if (s.do_eval && length.eval_rows > 0) {
    t.evaluation_seconds = evaluation_seconds;
    const double every = s.evaluation_interval();
    t.evaluations = 1 + (s.eval_strategy == "steps"   ? times_in(every, length.steps)
                         : s.eval_strategy == "epoch" ? std::llround(std::ceil(length.epochs))
                                                      : 0);
    t.evaluations = std::max<int64_t>(1, std::llround(static_cast<double>(t.evaluations) * share));
  }
  return t;
}

OrderedJson RunTime::json(double price_per_hour) const {
  OrderedJson j{{"steps", steps},
                {"tokens", tokens},
                {"seconds_per_step", step_seconds},
                {"training_seconds", training_seconds()},
                {"load_seconds", load_seconds},
                {"evaluations", evaluations},
                {"evaluation_seconds", evaluation_seconds},
                {"checkpoints_written", checkpoints_written},
                {"checkpoints_kept", checkpoints_kept},
                {"checkpoint_bytes", checkpoint_bytes},
                {"checkpoint_seconds", save_seconds},
                {"model_bytes", model_bytes},
                {"disk_bytes", model_bytes + checkpoints_kept * checkpoint_bytes},
                {"total_seconds", seconds()}};
  if (price_per_hour > 0) j["cost"] = cost(price_per_hour);
  return j;
}

std::string RunTime::text(double price_per_hour) const {
  std::string text = fmt::format("{:.3g} s a step", step_seconds);
  if (steps == 0) return text;
  text += fmt::format(", {} for {}", format_duration(seconds()), count_of(steps, "step"));
  if (price_per_hour > 0) text += "; costs " + price_text(cost(price_per_hour));
  return text;
}

Result<double> most_seconds(const TrainSettings& s) {
  double most = std::numeric_limits<double>::infinity();
  if (s.max_hours > 0) most = s.max_hours * kHour;
  if (s.max_cost <= 0) return most;
  if (s.price_per_hour <= 0)
    return Error(err::kSettingRequired, "--max_cost needs the price of an hour")
        .at(fmt::format("--max_cost {:g}", s.max_cost))
        .todo("add --price_per_hour, in the same currency, or limit the time with --max_hours");
  const double price = s.price_per_hour * static_cast<double>(machines_of(s));
  return std::min(most, s.max_cost / price * kHour);
}

Status check_time(const TrainSettings& s, const RunTime& time) {
  const double most = HONE_TRY(most_seconds(s));
  const double needed = time.seconds();
  if (needed <= most) return Ok{};
  const bool by_cost = s.max_hours <= 0 || most < s.max_hours * kHour;
  const double rest = needed - time.training_seconds();  // time outside of steps
  const auto steps = static_cast<int64_t>((most - rest) / time.step_seconds);
  const std::string more =
      by_cost ? fmt::format("--max_cost {:.2f}", std::ceil(time.cost(s.price_per_hour) * 110) / 100)
              : fmt::format("--max_hours {:.2g}", needed * 1.1 / kHour);
  return Error(err::kTakesTooLong,
               fmt::format("the run is predicted to take {}{}, {} may be used",
                           format_duration(needed),
                           by_cost ? " and to cost " + price_text(time.cost(s.price_per_hour)) : "",
                           by_cost ? price_text(s.max_cost) : format_duration(most)))
      .at(by_cost
              ? fmt::format("--max_cost {:g} --price_per_hour {:g}", s.max_cost, s.price_per_hour)
              : fmt::format("--max_hours {:g}", s.max_hours))
      .todo(steps > 0 ? fmt::format("--max_steps {} fits; or give {}", steps, more)
                      : fmt::format("give {}, or take a smaller model or shorter rows", more));
}

namespace {

class TimeReport : public TrainCallback {
 public:
  explicit TimeReport(const RunTime& predicted) : predicted_(predicted) {}

  void on_step_end(const RunPlace& at, const StepReport& r) override {
    // The first step is slower: it touches new memory.
    if (r.steps > 1 && count_ < seconds_.size()) seconds_[count_++] = r.step_seconds;
    if (told_ || (count_ < seconds_.size() && at.step < at.total_steps) || count_ == 0) return;
    told_ = true;
    std::sort(seconds_.begin(), seconds_.begin() + static_cast<std::ptrdiff_t>(count_));
    const double median = seconds_[count_ / 2];
    const int64_t left = at.total_steps - at.step;
    const double rest =
        predicted_.seconds() - predicted_.training_seconds() - predicted_.load_seconds;
    std::array<char, 256> line;  // no allocation in the loop
    const double times = median / predicted_.step_seconds;
    auto end =
        fmt::format_to_n(line.data(), 192,
                         "{:<11} {:.3g} s a step, predicted {:.3g} ({:.3g} times the prediction{})",
                         "time", median, predicted_.step_seconds, times,
                         times < kMuchSlower ? "" : ": do other programs use the processors?")
            .out;
    if (left > 0)
      end = fmt::format_to_n(
                end, line.data() + line.size() - end, "; {} left for {}",
                format_duration(median * static_cast<double>(left) + std::max(rest, 0.0)),
                count_of(left, "step"))
                .out;
    log_line(LogLevel::kInfo, {line.data(), static_cast<size_t>(end - line.data())});
  }

 private:
  RunTime predicted_;
  std::array<double, 19> seconds_{};
  size_t count_ = 0;
  bool told_ = false;
};

}  // namespace

std::unique_ptr<TrainCallback> make_time_report(const RunTime& predicted) {
  return std::make_unique<TimeReport>(predicted);
}

}  // namespace hone

// A run reports the time that training waited: for checkpoints of a slow store, and for its rows.
// It continues if the store refuses a checkpoint, and if a stop cuts short its reading.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/store/errors.h"
#include "base/store/temporary_folder.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "learn/harness/run/task_run.h"
#include "learn/tasks/parity.h"

namespace hone {
namespace {

// The output folder in memory; a function is called before each of its files, and may refuse it.
class WatchedStore : public Store {
 public:
  using Watch = std::function<Status(const std::string& path)>;
  Watch before_removal = [](const std::string&) { return Ok{}; };
  WatchedStore(bool is_bucket, Watch watch) : is_bucket_(is_bucket), watch_(std::move(watch)) {}

  Result<Info> info(const std::string& path) override { return of(path).info(path); }
  Result<std::unique_ptr<Reader>> open(const std::string& path) override {
    return of(path).open(path);
  }
  Result<std::vector<Entry>> list(const std::string& path) override { return of(path).list(path); }
  Result<std::unique_ptr<Writer>> create(const std::string& path) override {
    if (is_output(path)) HONE_TRY(watch_(path));
    if (is_bucket_ && is_output(path))
      HONE_TRY(of(path).make_dirs(path.substr(0, path.find_last_of('/'))));
    return of(path).create(path);
  }
  Result<std::unique_ptr<Writer>> append(const std::string& path) override {
    return of(path).append(path);
  }
  Status rename(const std::string& a, const std::string& b) override {
    HONE_TRY(before_removal(a));
    return of(a).rename(a, b);
  }
  Status remove(const std::string& path) override {
    HONE_TRY(before_removal(path));
    return of(path).remove(path);
  }
  Status remove_all(const std::string& path) override {
    HONE_TRY(before_removal(path));
    return of(path).remove_all(path);
  }
  Status make_dirs(const std::string& path) override { return of(path).make_dirs(path); }
  Status remove_unfinished(const std::string& path) override {
    return of(path).remove_unfinished(path);
  }
  bool renames_folders_at_once(const std::string&) override { return !is_bucket_; }

 private:
  static bool is_output(const std::string& path) { return path.starts_with("/out"); }
  Store& of(const std::string& path) { return is_output(path) ? *output_ : machine_; }

  std::unique_ptr<Store> output_ = make_memory_store();
  Store& machine_ = file_store();
  bool is_bucket_;
  Watch watch_;
};

constexpr double kSlowSeconds = 0.05;
Status slow_down(const std::string& path) {
  if (path.ends_with("optimizer.safetensors"))
    std::this_thread::sleep_for(std::chrono::duration<double>(kSlowSeconds));
  return Ok{};
}

// Lines from the trainer.
struct Heard {
  std::vector<StepReport> steps;
  std::vector<double> saves;
  OrderedJson metrics;
};

class Listener : public TrainCallback {
 public:
  Listener(Heard& heard, const std::function<void(int64_t)>& after_step)
      : heard_(heard), after_step_(after_step) {}
  void on_step_end(const RunPlace& place, const StepReport& r) override {
    heard_.steps.push_back(r);
    if (after_step_) after_step_(place.step);
  }
  void on_save(const RunPlace&, const std::string&, double seconds) override {
    heard_.saves.push_back(seconds);
  }

 private:
  Heard& heard_;
  const std::function<void(int64_t)>& after_step_;
};

// A test's changes of a run.
struct Script {
  std::string device = "cpu";
  std::function<void(TrainSettings&)> settings = {};
  std::function<void(int64_t step)> after_step = {};     // from 1
  std::function<Status(int64_t step)> before_step = {};  // from 0; an Error is that of the step
  std::function<Result<OrderedJson>()> evaluation = {};
};

class ScriptedTask : public TrainTask {
 public:
  ScriptedTask(TrainTask& task, const Script& script) : task_(task), script_(script) {}
  Session& session() override { return task_.session(); }
  const StepCount& steps() const override { return task_.steps(); }
  int64_t train_rows() const override { return task_.train_rows(); }
  Result<StepSums> take_step(int64_t step, const StepUpdate& update) override {
    if (script_.before_step) HONE_TRY(script_.before_step(step));
    return task_.take_step(step, update);
  }
  Result<NotFiniteStep> why_not_finite(int64_t step, const StepUpdate& update) override {
    return task_.why_not_finite(step, update);
  }
  bool can_evaluate() const override { return script_.evaluation || task_.can_evaluate(); }
  Result<OrderedJson> evaluate() override {
    return script_.evaluation ? script_.evaluation() : task_.evaluate();
  }
  Status save_model_files(const std::string& folder) override {
    return task_.save_model_files(folder);
  }
  std::vector<std::string> weight_names() const override { return task_.weight_names(); }
  double flops_of_step(const StepSums& sums) const override { return task_.flops_of_step(sums); }
  std::span<std::byte> save_copy() override { return task_.save_copy(); }
  Json fingerprint() const override { return task_.fingerprint(); }

 private:
  TrainTask& task_;
  const Script& script_;
};

// Six steps, a checkpoint after each second one.
Result<TrainOutcome> train_into(Store& store, const Script& script, Heard& heard) {
  const TemporaryFolder machine;
  Task task = task_named("clm");
  TaskSettings& s = *task.settings;
  s.train_file = {machine.path + "/rows.jsonl"};
  std::ofstream rows(s.train_file[0]);
  for (int i = 0; i < 16; ++i) rows << fmt::format("{{\"input_ids\": [{}, {}, 7, 2]}}\n", i, 3 * i);
  rows.close();
  s.output_dir = "/out";
  s.do_train = true;
  s.validation_split_percentage = 0;
  Schema own("", "");
  task.bind(own);
  EXPECT_TRUE(own.parse({"--block_size=16"}, {}).ok());
  s.per_device_train_batch_size = 2;
  s.max_steps = 6;
  s.save_steps = 2;
  s.threads = 1;
  s.device = script.device;
  s.disable_tqdm = true;
  if (script.settings) script.settings(s);
  OpenOptions o;
  o.need_weights = o.need_tokenizer = false;
  const std::string folder = std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/gpt2_tiny";
  const FileStoreInstead instead(store);
  auto run =
      std::move(TaskRun::open(task, std::move(open_pretrained(folder, o).value()), true).value());
  const TrainStart start = Trainer::find_start(s).value();
  ScriptedTask scripted(*run, script);
  Trainer trainer(s, scripted, make_schedule(s, run->steps().total_steps()).value());
  trainer.add_callback(std::make_unique<Listener>(heard, script.after_step));
  EXPECT_FALSE(trainer.begin(start).value());
  return trainer.train();
}

Heard run_into(Store& store, const Script& script = {}) {
  Heard heard;
  heard.metrics = train_into(store, script, heard).value().metrics;
  return heard;
}

// The checkpoints, and what was left of them.
std::vector<std::string> folders_of(Store& store) {
  std::vector<std::string> folders;
  const auto entries = store.list("/out").value();
  for (const Store::Entry& e : entries)
    if (e.folder && !store.list("/out/" + e.name)->empty()) folders.push_back(e.name);
  return folders;
}

class Waits : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { set_log_level(LogLevel::kError); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }
};

TEST_P(Waits, AreCountedApartFromTheLastCheckpoint) {
  const bool is_bucket = GetParam();
  WatchedStore store(is_bucket, slow_down);
  const Heard heard = run_into(store);
  ASSERT_EQ(heard.steps.size(), 6u);
  ASSERT_EQ(heard.saves.size(), 3u);
  for (const double seconds : heard.saves) EXPECT_GE(seconds, kSlowSeconds);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_GT(heard.steps[i].data_seconds, i > 0 ? heard.steps[i - 1].data_seconds : 0.0);
    EXPECT_LE(heard.steps[i].data_seconds + heard.steps[i].save_seconds, heard.steps[i].seconds);
  }
  // The reports after the steps 1 to 6. A checkpoint of a bucket is waited for inside the step
  // after it.
  EXPECT_EQ(heard.steps[1].save_seconds, 0);
  EXPECT_GT(heard.steps[2].save_seconds, 0);
  EXPECT_GT(heard.steps[4].save_seconds, heard.steps[3].save_seconds);
  if (!is_bucket) {
    EXPECT_GE(heard.steps[2].save_seconds, kSlowSeconds);
    EXPECT_GE(heard.steps[4].save_seconds, 2 * kSlowSeconds);
  }
  const double rounding = 1e-4;
  EXPECT_NEAR(heard.metrics["train_data_wait_seconds"], heard.steps[5].data_seconds, rounding);
  EXPECT_NEAR(heard.metrics["train_save_wait_seconds"], heard.steps[5].save_seconds, rounding);
  EXPECT_GE(heard.metrics["train_last_save_seconds"], kSlowSeconds - rounding);
}

// Older checkpoints are deleted while training continues.
TEST_P(Waits, OlderCheckpointsAreDeleted) {
  WatchedStore store(GetParam(), slow_down);
  run_into(store, {.settings = [](TrainSettings& s) { s.save_total_limit = 1; }});
  EXPECT_EQ(folders_of(store), std::vector<std::string>{"checkpoint-6"});
}

// A checkpoint that cannot be deleted is deleted with the next.
TEST_P(Waits, ADeletionThatFailsEndsNoRun) {
  WatchedStore store(GetParam(), slow_down);
  std::atomic<int> refused = 0;
  store.before_removal = [&](const std::string& path) -> Status {
    const bool old = path.starts_with("/out/checkpoint-2/") || path.find(".del-") != path.npos;
    if (old && refused++ == 0) return Error(err::kNetwork, "cannot delete " + path);
    return Ok{};
  };
  run_into(store, {.settings = [](TrainSettings& s) { s.save_total_limit = 1; }});
  EXPECT_GT(refused, 1);
  EXPECT_EQ(folders_of(store), std::vector<std::string>{"checkpoint-6"});
}

INSTANTIATE_TEST_SUITE_P(Stores, Waits, testing::Bool(),
                         [](const auto& p) { return p.param ? "bucket" : "disk"; });

std::string bytes_of(Store& store, const std::string& path) {
  const auto reader = store.open(path).value();
  std::string bytes(static_cast<size_t>(reader->bytes()), '\0');
  EXPECT_TRUE(reader->read(0, std::as_writable_bytes(std::span(bytes))).ok());
  return bytes;
}

class SaveCopies : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { set_log_level(LogLevel::kError); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }
};

// The store takes nothing of the first checkpoint until the step after it has changed the weights.
TEST_P(SaveCopies, AStepChangesWhatIsStillToBeWritten) {
  std::promise<void> next_step;
  const std::future<void> made = next_step.get_future();
  bool waited_in_vain = false;
  WatchedStore held(true, [&](const std::string& path) {
    if (path.ends_with("checkpoint-2/model.safetensors"))
      waited_in_vain = made.wait_for(std::chrono::seconds(60)) != std::future_status::ready;
    return Ok{};
  });
  run_into(held, {.device = GetParam(), .after_step = [&](int64_t step) {
                    if (step == 3) next_step.set_value();
                  }});
  EXPECT_FALSE(waited_in_vain);
  WatchedStore plain(false, [](const std::string&) { return Ok{}; });
  run_into(plain, {.device = GetParam()});
  for (const std::string file : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_EQ(bytes_of(held, "/out/checkpoint-2/" + file),
              bytes_of(plain, "/out/checkpoint-2/" + file));
}

INSTANTIATE_TEST_SUITE_P(Devices, SaveCopies, testing::Values("cpu", "far"),
                         [](const auto& p) { return std::string(p.param); });

Error refused(const std::string& path) { return {err::kNetwork, "cannot write " + path}; }

class SavesMissed : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kError); }
  void TearDown() override {
    set_log_level(LogLevel::kInfo);
    request_stop(0);
  }

  // The bucket does not take `name`, once, and says so when it is let go.
  std::promise<void> let_go_;
  bool was_refused_ = false;
  WatchedStore refusing(const std::string& name) {
    return WatchedStore(true, [this, name](const std::string& path) -> Status {
      if (was_refused_ || !path.ends_with(name)) return Ok{};
      was_refused_ = true;
      (void)let_go_.get_future().wait_for(std::chrono::seconds(60));
      return refused(path);
    });
  }
  Heard heard_;
};

TEST_F(SavesMissed, TheBestCheckpointStaysWhenABetterOneIsMissed) {
  WatchedStore store = refusing("checkpoint-4/model.safetensors");
  let_go_.set_value();
  std::vector<double> losses = {5, 3, 4};
  Script script;
  script.settings = [](TrainSettings& s) {
    s.eval_strategy = "steps";
    s.eval_steps = 2;
    s.load_best_model_at_end = true;
    s.save_total_limit = 1;
  };
  script.evaluation = [&]() -> Result<OrderedJson> {
    const double loss = losses.front();
    losses.erase(losses.begin());
    return OrderedJson{{"loss", loss}, {"samples", 1}};
  };
  const auto outcome = train_into(store, script, heard_);
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_TRUE(was_refused_);
  EXPECT_EQ(folders_of(store), std::vector<std::string>{"checkpoint-2"});
  EXPECT_EQ(bytes_of(store, "/out/model.safetensors"),
            bytes_of(store, "/out/checkpoint-2/model.safetensors"));
  const Json state = Json::parse(bytes_of(store, "/out/trainer_state.json"));
  EXPECT_EQ(state["best_model_checkpoint"], "/out/checkpoint-2");
  EXPECT_EQ(state["best_global_step"], 4);
}

TEST_F(SavesMissed, AnOlderMissDoesNotPreventTheSaveOfAStop) {
  WatchedStore store = refusing("checkpoint-2/model.safetensors");
  const auto outcome = train_into(store,
                                  {.after_step =
                                       [&](int64_t step) {
                                         if (step != 3) return;
                                         request_stop(SIGTERM);
                                         let_go_.set_value();
                                       }},
                                  heard_);
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_TRUE(was_refused_);
  EXPECT_EQ(outcome->stopped_by, SIGTERM);
  EXPECT_TRUE(verify_checkpoint("/out/checkpoint-3", store).ok());
}

TEST_F(SavesMissed, AnOlderMissDoesNotPreventTheSaveOfTheLastStep) {
  WatchedStore store = refusing("checkpoint-5/model.safetensors");
  const auto outcome = train_into(store,
                                  {.settings = [](TrainSettings& s) { s.save_steps = 5; },
                                   .after_step =
                                       [&](int64_t step) {
                                         if (step == 6) let_go_.set_value();
                                       }},
                                  heard_);
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_TRUE(was_refused_);
  EXPECT_TRUE(verify_checkpoint("/out/checkpoint-6", store).ok());
  EXPECT_EQ(folders_of(store), std::vector<std::string>{"checkpoint-6"});
}

TEST_F(SavesMissed, AMissOfTheStepOfAStopIsTriedAgain) {
  WatchedStore store = refusing("checkpoint-2/model.safetensors");
  const auto outcome = train_into(store, {.before_step = [&](int64_t step) -> Status {
                                    if (step != 2) return Ok{};
                                    request_stop(SIGTERM);
                                    let_go_.set_value();
                                    return Error(err::kInterrupted, "stopped while reading");
                                  }},
                                  heard_);
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_TRUE(was_refused_);
  EXPECT_EQ(outcome->stopped_by, SIGTERM);
  EXPECT_TRUE(verify_checkpoint("/out/checkpoint-2", store).ok());
  const Json state = Json::parse(bytes_of(store, "/out/checkpoint-2/hone_state.json"));
  EXPECT_FALSE(state.contains("saved_because_stopped"));  // it was due
}

TEST_F(SavesMissed, TheThirdInARowEndsTheRun) {
  WatchedStore store(true, [](const std::string& path) -> Status {
    if (path.ends_with("optimizer.safetensors")) return refused(path);
    return Ok{};
  });
  const auto outcome =
      train_into(store, {.settings = [](TrainSettings& s) { s.save_steps = 1; }}, heard_);
  ASSERT_FALSE(outcome.ok());
  EXPECT_STREQ(outcome.error().code(), "H0107");
  EXPECT_GE(heard_.steps.size(), 3u);
  EXPECT_LT(heard_.steps.size(), 6u);
}

TEST_F(SavesMissed, ThatOfTheLastStepEndsTheRun) {
  WatchedStore store = refusing("checkpoint-6/model.safetensors");
  let_go_.set_value();
  EXPECT_STREQ(train_into(store, {}, heard_).error().code(), "H0107");
}

// SIGTERM while a step or an evaluation waits for rows of a URL.
class SaveOfAStop : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { set_log_level(LogLevel::kError); }
  void TearDown() override {
    set_log_level(LogLevel::kInfo);
    request_stop(0);
  }
  static Error cut_short(bool by_a_stop) {
    if (by_a_stop) request_stop(SIGTERM);
    return {err::kInterrupted, "stopped while reading gs://rows"};
  }
  // Stops the run before that step, counted from 0.
  static Script stops_before(int64_t step, bool by_a_stop = true) {
    Script script;
    script.before_step = [=](int64_t next) {
      return next == step ? Status(cut_short(by_a_stop)) : Ok{};
    };
    return script;
  }
  WatchedStore store_{GetParam(), [](const std::string&) { return Ok{}; }};
  Heard heard_;
};

TEST_P(SaveOfAStop, WhileAStepReads) {
  const auto outcome = train_into(store_, stops_before(3), heard_);
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_EQ(outcome->stopped_by, SIGTERM);
  EXPECT_EQ(outcome->steps_done, 3);
  EXPECT_TRUE(verify_checkpoint("/out/checkpoint-3", store_).ok());
  request_stop(0);
  const Heard rest = run_into(store_);
  EXPECT_EQ(rest.steps.size(), 3u);
}

TEST_P(SaveOfAStop, BeforeTheFirstStepHasNothingToSave) {
  const auto outcome = train_into(store_, stops_before(0), heard_);
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_EQ(outcome->stopped_by, SIGTERM);
  EXPECT_TRUE(folders_of(store_).empty());
}

TEST_P(SaveOfAStop, WithoutAStopTheErrorEndsTheRun) {
  EXPECT_STREQ(train_into(store_, stops_before(3, false), heard_).error().code(), "H0109");
}

TEST_P(SaveOfAStop, WhileAnEvaluationReads) {
  Script script;
  script.settings = [](TrainSettings& s) {
    s.eval_strategy = "steps";
    s.eval_steps = 3;
  };
  script.evaluation = []() -> Result<OrderedJson> { return cut_short(true); };
  const auto outcome = train_into(store_, script, heard_);
  ASSERT_TRUE(outcome.ok()) << outcome.error().text();
  EXPECT_EQ(outcome->stopped_by, SIGTERM);
  EXPECT_EQ(outcome->steps_done, 3);
  const Json state = Json::parse(bytes_of(store_, "/out/checkpoint-3/hone_state.json"));
  EXPECT_TRUE(state["evaluation_due"]);
}

INSTANTIATE_TEST_SUITE_P(Stores, SaveOfAStop, testing::Bool(),
                         [](const auto& p) { return p.param ? "bucket" : "disk"; });

}  // namespace
}  // namespace hone

// What a run says of the time that training waited: for checkpoints of a slow store, and for its rows.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "base/core/log.h"
#include "base/store/temporary_folder.h"
#include "learn/harness/task_run.h"
#include "learn/tasks/parity.h"

namespace hone {
namespace {

// The output folder in memory; a function is called before each of its files.
class WatchedStore : public Store {
 public:
  using Watch = std::function<void(const std::string& path)>;
  WatchedStore(bool is_bucket, Watch watch) : is_bucket_(is_bucket), watch_(std::move(watch)) {}

  Result<Info> info(const std::string& path) override { return of(path).info(path); }
  Result<std::unique_ptr<Reader>> open(const std::string& path) override {
    return of(path).open(path);
  }
  Result<std::vector<Entry>> list(const std::string& path) override { return of(path).list(path); }
  Result<std::unique_ptr<Writer>> create(const std::string& path) override {
    if (is_output(path)) watch_(path);
    if (is_bucket_ && is_output(path))
      HONE_TRY(of(path).make_dirs(path.substr(0, path.find_last_of('/'))));
    return of(path).create(path);
  }
  Result<std::unique_ptr<Writer>> append(const std::string& path) override {
    return of(path).append(path);
  }
  Status rename(const std::string& a, const std::string& b) override { return of(a).rename(a, b); }
  Status remove(const std::string& path) override { return of(path).remove(path); }
  Status remove_all(const std::string& path) override { return of(path).remove_all(path); }
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
void slow_down(const std::string& path) {
  if (path.ends_with("optimizer.safetensors"))
    std::this_thread::sleep_for(std::chrono::duration<double>(kSlowSeconds));
}

// What the trainer said.
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

// Six steps, a checkpoint after each second one.
Heard run_into(Store& store, const std::string& device = "cpu",
               const std::function<void(int64_t step)>& after_step = {},
               std::optional<int64_t> save_total_limit = {}) {
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
  s.save_total_limit = save_total_limit;
  s.threads = 1;
  s.device = device;
  s.disable_tqdm = true;
  OpenOptions o;
  o.need_weights = o.need_tokenizer = false;
  const std::string folder = std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/gpt2_tiny";
  const FileStoreInstead instead(store);
  auto run =
      std::move(TaskRun::open(task, std::move(open_pretrained(folder, o).value()), true).value());
  const TrainStart start = Trainer::find_start(s).value();
  Trainer trainer(s, *run, make_schedule(s, run->steps().total_steps()).value());
  Heard heard;
  trainer.add_callback(std::make_unique<Listener>(heard, after_step));
  EXPECT_FALSE(trainer.begin(start).value());
  heard.metrics = trainer.train().value().metrics;
  return heard;
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
  // The reports after the steps 1 to 6. A checkpoint of a bucket is waited for inside the step after it.
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

// What is deleted after a checkpoint is deleted beside training too.
TEST_P(Waits, OlderCheckpointsAreDeleted) {
  WatchedStore store(GetParam(), slow_down);
  run_into(store, "cpu", {}, 1);
  std::vector<std::string> checkpoints;
  const auto entries = store.list("/out").value();
  for (const Store::Entry& e : entries)
    if (e.folder && !store.list("/out/" + e.name)->empty()) checkpoints.push_back(e.name);
  EXPECT_EQ(checkpoints, std::vector<std::string>{"checkpoint-6"});
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
  });
  run_into(held, GetParam(), [&](int64_t step) {
    if (step == 3) next_step.set_value();
  });
  EXPECT_FALSE(waited_in_vain);
  WatchedStore plain(false, [](const std::string&) {});
  run_into(plain, GetParam());
  for (const std::string file : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_EQ(bytes_of(held, "/out/checkpoint-2/" + file),
              bytes_of(plain, "/out/checkpoint-2/" + file));
}

INSTANTIATE_TEST_SUITE_P(Devices, SaveCopies, testing::Values("cpu", "far"),
                         [](const auto& p) { return std::string(p.param); });

}  // namespace
}  // namespace hone

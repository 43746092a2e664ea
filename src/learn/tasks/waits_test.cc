// What a run says of the time that training waited: for checkpoints of a slow store, and for its rows.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/core/log.h"
#include "base/store/temporary_folder.h"
#include "learn/harness/task_run.h"
#include "learn/tasks/parity.h"

namespace hone {
namespace {

// A store that takes long for one of the files of a checkpoint.
class SlowStore : public Store {
 public:
  static constexpr double kSeconds = 0.05;
  explicit SlowStore(bool is_bucket) : is_bucket_(is_bucket) {}

  Result<Info> info(const std::string& path) override { return s_->info(path); }
  Result<std::unique_ptr<Reader>> open(const std::string& path) override { return s_->open(path); }
  Result<std::vector<Entry>> list(const std::string& path) override { return s_->list(path); }
  Result<std::unique_ptr<Writer>> create(const std::string& path) override {
    if (path.ends_with("optimizer.safetensors"))
      std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
    if (is_bucket_) HONE_TRY(s_->make_dirs(path.substr(0, path.find_last_of('/'))));
    return s_->create(path);
  }
  Result<std::unique_ptr<Writer>> append(const std::string& path) override {
    return s_->append(path);
  }
  Status rename(const std::string& a, const std::string& b) override { return s_->rename(a, b); }
  Status remove(const std::string& path) override { return s_->remove(path); }
  Status remove_all(const std::string& path) override { return s_->remove_all(path); }
  Status make_dirs(const std::string& path) override { return s_->make_dirs(path); }
  Status remove_unfinished(const std::string& path) override { return s_->remove_unfinished(path); }
  bool renames_folders_at_once(const std::string&) override { return !is_bucket_; }

 private:
  std::unique_ptr<Store> s_ = make_memory_store();
  bool is_bucket_;
};

// What the trainer said.
struct Heard {
  std::vector<StepReport> steps;
  std::vector<double> saves;
  OrderedJson metrics;
};

class Listener : public TrainCallback {
 public:
  explicit Listener(Heard& heard) : heard_(heard) {}
  void on_step_end(const RunPlace&, const StepReport& r) override { heard_.steps.push_back(r); }
  void on_save(const RunPlace&, const std::string&, double seconds) override {
    heard_.saves.push_back(seconds);
  }

 private:
  Heard& heard_;
};

// Six steps, a checkpoint after each second one.
Heard run_into(Store& store) {
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
  s.save_total_limit = 1;
  s.threads = 1;
  s.disable_tqdm = true;
  OpenOptions o;
  o.need_weights = o.need_tokenizer = false;
  const std::string folder = std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/gpt2_tiny";
  auto run =
      std::move(TaskRun::open(task, std::move(open_pretrained(folder, o).value()), true).value());
  const FileStoreInstead instead(store);  // after the inputs were read from this machine
  const TrainStart start = Trainer::find_start(s).value();
  Trainer trainer(s, *run, make_schedule(s, run->steps().total_steps()).value());
  Heard heard;
  trainer.add_callback(std::make_unique<Listener>(heard));
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
  SlowStore store(is_bucket);
  const Heard heard = run_into(store);
  ASSERT_EQ(heard.steps.size(), 6u);
  ASSERT_EQ(heard.saves.size(), 3u);
  for (const double seconds : heard.saves) EXPECT_GE(seconds, SlowStore::kSeconds);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_GT(heard.steps[i].data_seconds, i > 0 ? heard.steps[i - 1].data_seconds : 0.0);
    EXPECT_LE(heard.steps[i].data_seconds + heard.steps[i].save_seconds, heard.steps[i].seconds);
  }
  // The reports after the steps 1 to 6. A checkpoint of a bucket is waited for inside the step after it.
  EXPECT_EQ(heard.steps[1].save_seconds, 0);
  EXPECT_GT(heard.steps[2].save_seconds, 0);
  EXPECT_GT(heard.steps[4].save_seconds, heard.steps[3].save_seconds);
  if (!is_bucket) {
    EXPECT_GE(heard.steps[2].save_seconds, SlowStore::kSeconds);
    EXPECT_GE(heard.steps[4].save_seconds, 2 * SlowStore::kSeconds);
  }
  const double rounding = 1e-4;
  EXPECT_NEAR(heard.metrics["train_data_wait_seconds"], heard.steps[5].data_seconds, rounding);
  EXPECT_NEAR(heard.metrics["train_save_wait_seconds"], heard.steps[5].save_seconds, rounding);
  EXPECT_GE(heard.metrics["train_last_save_seconds"], SlowStore::kSeconds - rounding);
}

// What is deleted after a checkpoint is deleted beside training too.
TEST_P(Waits, OlderCheckpointsAreDeleted) {
  SlowStore store(GetParam());
  run_into(store);
  std::vector<std::string> checkpoints;
  const auto entries = store.list("/out").value();
  for (const Store::Entry& e : entries)
    if (e.folder && !store.list("/out/" + e.name)->empty()) checkpoints.push_back(e.name);
  EXPECT_EQ(checkpoints, std::vector<std::string>{"checkpoint-6"});
}

INSTANTIATE_TEST_SUITE_P(Stores, Waits, testing::Bool(),
                         [](const auto& p) { return p.param ? "bucket" : "disk"; });

}  // namespace
}  // namespace hone

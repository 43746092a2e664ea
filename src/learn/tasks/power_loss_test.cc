// Whole runs over a disk that loses power and drops what was not synced: at every moment each
// checkpoint and the saved model can be read, and the run that is typed again ends with the bits of
// the run that was never cut off.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "base/core/log.h"
#include "base/core/whole_test.h"
#include "base/store/temporary_folder.h"
#include "learn/checkpoint/safetensors/safetensors.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "learn/harness/run/task_run.h"
#include "learn/tasks/parity.h"

namespace hone {
namespace {

class PowerLoss : public testing::Test {
 protected:
  void SetUp() override {
    set_log_level(LogLevel::kError);
    s_.train_file = {machine_.path + "/rows.jsonl"};
    std::ofstream rows(s_.train_file[0]);
    for (int i = 0; i < 24; ++i)
      rows << fmt::format("{{\"input_ids\": [{}, {}, {}, {}, {}, {}]}}\n", i, 3 * i % 50, 7, i % 5,
                          i * i % 61, 2);
    s_.output_dir = "/runs/out";
    s_.do_train = s_.do_eval = true;
    s_.validation_split_percentage = 25;
    Schema own("", "");
    task_.bind(own);
    ASSERT_TRUE(own.parse({"--block_size=16"}, {}).ok());
    s_.per_device_train_batch_size = 2;
    s_.gradient_accumulation_steps = 2;
    s_.max_steps = 5;
    s_.eval_strategy = "steps";
    s_.eval_steps = 2;
    s_.save_steps = 2;
    s_.save_total_limit = 2;
    s_.logging_steps = 1;
    s_.learning_rate = 0.01;
    s_.threads = 1;
    s_.disable_tqdm = true;
  }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  // As `hone train`: what a process does from its start to its end.
  Status run(Store& disk) {
    OpenOptions o;
    o.need_weights = o.need_tokenizer = false;
    Pretrained model = HONE_TRY(
        open_pretrained(std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/gpt2_tiny", o));
    auto task = HONE_TRY(TaskRun::open(task_, std::move(model), true));
    const FileStoreInstead instead(disk);  // after the inputs were read from this machine
    const TrainStart start = HONE_TRY(Trainer::find_start(s_));
    Trainer trainer(s_, *task, HONE_TRY(make_schedule(s_, task->steps().total_steps())));
    if (HONE_TRY(trainer.begin(start))) return Ok{};
    const TrainOutcome outcome = HONE_TRY(trainer.train());
    HONE_TRY(trainer.write_results("train", outcome.metrics));
    HONE_TRY(trainer.write_results("eval", HONE_TRY(trainer.evaluate())));
    HONE_TRY(trainer.write_state());
    return trainer.finish();
  }

  // Every checkpoint under its name verifies; a saved model can be opened and read.
  void expect_readable(Store& disk) {
    if (!disk.exists(s_.output_dir).value()) return;
    const auto entries = disk.list(s_.output_dir).value();
    for (const Store::Entry& e : entries) {
      const std::string path = s_.output_dir + "/" + e.name;
      if (e.name.ends_with(".json")) {
        EXPECT_TRUE(parse_json(disk.read(path).value(), path).ok()) << path;
      }
      if (e.name == "model.safetensors") {
        auto weights = open_safetensors(path, disk);
        EXPECT_TRUE(weights.ok()) << (weights.ok() ? "" : weights.error().text());
      }
      if (step_of_checkpoint_name(e.name) < 0) continue;
      const Status whole = verify_checkpoint(path, disk);
      EXPECT_TRUE(whole.ok()) << (whole.ok() ? "" : whole.error().text());
    }
  }

  // Results that must not depend on power losses.
  std::vector<std::string> result(Store& disk) {
    std::vector<std::string> files;
    for (const char* name : {"model.safetensors", "checkpoint-5/model.safetensors",
                             "checkpoint-5/optimizer.safetensors", "config.json"})
      files.push_back(disk.read(s_.output_dir + "/" + name).value());
    Json state = Json::parse(disk.read(s_.output_dir + "/trainer_state.json").value());
    for (Json& entry : state["log_history"])
      for (const char* key :
           {"train_runtime", "train_samples_per_second", "train_steps_per_second",
            "train_tokens_per_second", "train_seconds_per_step", "train_data_wait_seconds",
            "train_save_wait_seconds", "train_last_save_seconds", "eval_runtime",
            "eval_samples_per_second", "eval_steps_per_second"})
        entry.erase(key);
    files.push_back(state.dump());
    return files;
  }

  TemporaryFolder machine_;
  Task task_ = task_named("clm");
  TaskSettings& s_ = *task_.settings;
};

TEST_F(PowerLoss, EveryFolderCanBeReadAndEveryResumeGivesTheSameBits) {
  SimulatedDisk whole_disk;
  auto whole = make_file_store(whole_disk);
  const Status once = run(*whole);
  ASSERT_TRUE(once.ok()) << once.error().text();
  const std::vector<std::string> wanted = result(*whole);
  const auto operations = static_cast<uint64_t>(whole_disk.operations());
  RecordProperty("operations", static_cast<int>(operations));

  const char* more = std::getenv("HONE_POWER_LOSSES");
  std::mt19937_64 random(29);
  int64_t losses = 0;
  while (losses < (more ? std::atoll(more) : rounds(200))) {
    SimulatedDisk disk;
    auto store = make_file_store(disk);
    bool ended = false;
    for (int attempt = 0; !ended; ++attempt) {
      const auto at = static_cast<int64_t>(random() % operations);
      if (attempt < 4) disk.lose_power_at(at);
      const Status s = run(*store);
      ended = s.ok();
      ASSERT_TRUE(ended || attempt < 4) << s.error().text();
      if (!ended) ++losses;
      disk.power_on(random());
      expect_readable(*store);
      ASSERT_FALSE(HasFailure()) << "attempt " << attempt << ", power lost at operation " << at;
    }
    // The last run may have lost its power after its last write.
    std::vector<Disk::Entry> left;
    ASSERT_GE(disk.list(s_.output_dir, left), 0);
    const std::vector<std::string> found = result(*store);
    for (size_t i = 0; i < wanted.size(); ++i) ASSERT_TRUE(wanted[i] == found[i]) << "file " << i;
    for (const Disk::Entry& e : left)
      ASSERT_TRUE(!e.name.ends_with("-tmp") && !is_checkpoint_leftover(e.name)) << e.name;
  }
}

}  // namespace
}  // namespace hone

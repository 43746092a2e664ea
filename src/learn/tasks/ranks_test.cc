// A run on several ranks, which are threads here: the numbers of one rank, and checkpoints that any
// number of ranks continues. tests/faults/ranks.py has processes.
#include <gtest/gtest.h>

#include <fstream>

#include "base/core/log.h"
#include "base/ranks/key_values.h"
#include "base/ranks/world.h"
#include "base/store/temporary_folder.h"
#include "engine/comm/loopback.h"
#include "learn/harness/run/task_run.h"
#include "learn/tasks/parity.h"
#include "learn/train/run_ranks.h"

namespace hone {
namespace {

constexpr int64_t kRowsOfStep = 6;

struct RankedRun {
  std::string folder;  // of its data and its output
  int ranks = 1;
  int64_t stage = 0, steps = 4, accumulation = 1;
};
// The results of rank 0.
struct RankedEnd {
  std::vector<double> losses;
  OrderedJson metrics;
};

// Rows of 3 to 9 tokens, 23 of them: the last batch of an epoch is short.
void write_ranked_rows(const std::string& file) {
  std::ofstream rows(file);
  for (int i = 0; i < 23; ++i) {
    std::vector<int> ids;
    for (int k = 0; k < 3 + i % 7; ++k) ids.push_back((17 * i + 5 * k) % 60);
    rows << fmt::format("{{\"input_ids\": [{}]}}\n", fmt::join(ids, ", "));
  }
}

class Losses : public TrainCallback {
 public:
  explicit Losses(std::vector<double>& losses) : losses_(losses) {}
  void on_step_end(const RunPlace&, const StepReport& r) override { losses_.push_back(r.loss); }

 private:
  std::vector<double>& losses_;
};

Status train_rank(const RankedRun& run, std::shared_ptr<RunRanks> ranks, RankedEnd& end) {
  Task task = task_named("clm");
  TaskSettings& s = *task.settings;
  s.ranks = std::move(ranks);
  s.train_file = s.validation_file = {run.folder + "/rows.jsonl"};
  s.output_dir = run.folder + "/out";
  s.do_train = s.do_eval = true;
  Schema own("", "");
  task.bind(own);
  HONE_TRY(own.parse({"--block_size=16", "--packing"}, {}));
  s.per_device_train_batch_size = kRowsOfStep / run.accumulation / s.ranks->share().ranks;
  s.per_device_eval_batch_size = 2;
  s.gradient_accumulation_steps = run.accumulation;
  s.max_steps = run.steps;
  s.lr_scheduler_type = "constant";
  s.learning_rate = 1e-3;
  s.save_steps = 2;
  s.threads = 1;
  s.zero_stage = run.stage;
  s.disable_tqdm = true;
  OpenOptions o;
  o.need_weights = o.need_tokenizer = false;
  const std::string model = std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/gpt2_tiny";
  const TrainStart start = HONE_TRY(Trainer::find_start(s));
  s.split = start.split;
  const auto opened = HONE_TRY(TaskRun::open(task, HONE_TRY(open_pretrained(model, o)), true));
  HONE_TRY(opened->check_ranks());
  Trainer trainer(s, *opened, HONE_TRY(make_schedule(s, opened->steps().total_steps())));
  if (s.ranks->leads()) trainer.add_callback(std::make_unique<Losses>(end.losses));
  HONE_TRY(trainer.begin(start));
  HONE_TRY(trainer.train());
  const OrderedJson metrics = HONE_TRY(trainer.evaluate());
  if (s.ranks->leads()) end.metrics = metrics;
  return trainer.finish();
}

RankedEnd train_on(const RankedRun& run) {
  RankedEnd end;
  LoopbackWorld loopback(run.ranks);
  LocalKeyValues messages;
  const Status done = loopback.run([&](Group& group) {
    World world;
    world.rank = world.local_rank = group.rank();
    world.ranks = world.local_ranks = run.ranks;
    world.host = "here";
    return train_rank(run,
                      run.ranks == 1 ? std::make_shared<RunRanks>()
                                     : std::make_shared<RunRanks>(world, messages, group),
                      end);
  });
  EXPECT_TRUE(done.ok()) << done.error().text();
  return end;
}

class Ranks : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kError); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }
};

void expect_close(const std::vector<double>& found, const std::vector<double>& wanted,
                  const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], 1e-6 * wanted[i]) << what << " step " << i;
}

// Rule 17: the normaliser counts the labels of all ranks, which have unequal numbers of them.
TEST_F(Ranks, LossesDoNotDependOnTheWorld) {
  for (const int64_t accumulation : {1, 2}) {
    const TemporaryFolder one;
    write_ranked_rows(one.path + "/rows.jsonl");
    const RankedEnd wanted = train_on({.folder = one.path, .accumulation = accumulation});
    for (const int ranks : {2, 3})
      for (const int64_t stage : {0, 1, 2, 3}) {
        if (ranks == 2 && accumulation == 2) continue;  // 6 / 2 / 2 rows
        const TemporaryFolder folder;
        write_ranked_rows(folder.path + "/rows.jsonl");
        const RankedEnd got = train_on(
            {.folder = folder.path, .ranks = ranks, .stage = stage, .accumulation = accumulation});
        const std::string what =
            fmt::format("{} ranks, stage {}, accumulation {}", ranks, stage, accumulation);
        expect_close(got.losses, wanted.losses, what);
        EXPECT_NEAR(got.metrics.value("eval_loss", 0.0), wanted.metrics.value("eval_loss", 1.0),
                    1e-5)
            << what;
        EXPECT_EQ(got.metrics["eval_samples"], wanted.metrics["eval_samples"]) << what;
      }
  }
}

// Rules 14 and 19: the rows after the checkpoint are those that come next, whatever the world.
TEST_F(Ranks, AnyWorldContinuesARun) {
  const TemporaryFolder whole;
  write_ranked_rows(whole.path + "/rows.jsonl");
  const RankedEnd wanted = train_on({.folder = whole.path, .ranks = 2, .stage = 1, .steps = 6});
  for (const auto& [first, then, stage] : {std::tuple(1, 3, 3), {2, 1, 0}, {3, 2, 2}, {2, 3, 1}}) {
    const TemporaryFolder folder;
    write_ranked_rows(folder.path + "/rows.jsonl");
    RankedEnd all = train_on({.folder = folder.path, .ranks = first, .stage = 3, .steps = 4});
    const RankedEnd rest =
        train_on({.folder = folder.path, .ranks = then, .stage = stage, .steps = 6});
    ASSERT_EQ(rest.losses.size(), 2u);
    all.losses.insert(all.losses.end(), rest.losses.begin(), rest.losses.end());
    expect_close(all.losses, wanted.losses, fmt::format("{} ranks, then {}", first, then));
  }
}

}  // namespace
}  // namespace hone

// Whole runs of text embeddings: a step has the same loss and the same weights after it, whatever its micro-batches
// and ranks; rows of a step share no text; evaluations by the columns of the rows.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/core/log.h"
#include "base/ranks/key_values.h"
#include "base/ranks/world.h"
#include "base/store/temporary_folder.h"
#include "engine/comm/loopback.h"
#include "learn/harness/run/task_run.h"
#include "learn/pretrained/tiny_model.h"
#include "learn/tasks/embedding_evaluation.h"
#include "learn/tasks/embedding_order.h"
#include "learn/tasks/parity.h"
#include "learn/train/run_ranks.h"

namespace hone {
namespace {

constexpr int64_t kPairsOfStep = 6;

void write_pairs(const std::string& folder) {
  for (const auto& [name, text] : tiny_model_files(tiny_encoder()))
    std::ofstream(folder + "/" + name) << text;
  std::ofstream rows(folder + "/rows.jsonl"), scored(folder + "/scored.jsonl");
  for (int i = 0; i < 17; ++i) {
    const SampleSentence s = sample_sentence(i);
    const std::string text = s.text().substr(0, 40 + static_cast<size_t>(i));
    rows << Json{{"anchor", s.place + std::to_string(i)}, {"positive", text}}.dump() << "\n";
    scored << Json{{"a", s.place}, {"b", text}, {"score", i % 5}}.dump() << "\n";
  }
}

struct EmbeddingRun {
  std::string folder = {};
  int ranks = 1;
  int64_t accumulation = 1;
  std::vector<std::string> flags = {};
};
struct EmbeddingEnd {
  std::vector<double> losses;
  OrderedJson metrics;
};

class LossesOfSteps : public TrainCallback {
 public:
  explicit LossesOfSteps(std::vector<double>& losses) : losses_(losses) {}
  void on_step_end(const RunPlace&, const StepReport& r) override { losses_.push_back(r.loss); }

 private:
  std::vector<double>& losses_;
};

Status train_embedding(const EmbeddingRun& run, std::shared_ptr<RunRanks> ranks,
                       EmbeddingEnd& end) {
  Task task = task_named("embedding");
  TaskSettings& s = *task.settings;
  s.ranks = std::move(ranks);
  s.train_file = {run.folder + "/rows.jsonl"};
  s.validation_file = {run.folder + "/scored.jsonl"};
  s.output_dir = run.folder + "/out";
  s.do_train = s.do_eval = true;
  Schema own("", "");
  task.bind(own);
  HONE_TRY(own.parse(run.flags, {}));
  s.per_device_train_batch_size = kPairsOfStep / run.accumulation / s.ranks->share().ranks;
  s.per_device_eval_batch_size = 4;
  s.gradient_accumulation_steps = run.accumulation;
  s.max_steps = 4;
  s.lr_scheduler_type = "constant";
  s.learning_rate = 1e-3;
  s.save_strategy = "no";
  s.threads = 1;
  s.disable_tqdm = true;
  OpenOptions o;
  o.need_weights = false;
  Pretrained model = HONE_TRY(open_pretrained(run.folder, o));
  HONE_TRY(task.choose_head(model.config));
  const auto opened = HONE_TRY(TaskRun::open(task, std::move(model), true));
  HONE_TRY(opened->check_ranks());
  Trainer trainer(s, *opened, HONE_TRY(make_schedule(s, opened->steps().total_steps())));
  if (s.ranks->leads()) trainer.add_callback(std::make_unique<LossesOfSteps>(end.losses));
  HONE_TRY(trainer.begin(HONE_TRY(Trainer::find_start(s))));
  HONE_TRY(trainer.train());
  const OrderedJson metrics = HONE_TRY(trainer.evaluate());
  if (s.ranks->leads()) end.metrics = metrics;
  return Ok{};
}

EmbeddingEnd embedding_end(const EmbeddingRun& run) {
  EmbeddingEnd end;
  LoopbackWorld loopback(run.ranks);
  LocalKeyValues messages;
  const Status done = loopback.run([&](Group& group) {
    World world;
    world.rank = world.local_rank = group.rank();
    world.ranks = world.local_ranks = run.ranks;
    world.host = "here";
    return train_embedding(run,
                           run.ranks == 1 ? std::make_shared<RunRanks>()
                                          : std::make_shared<RunRanks>(world, messages, group),
                           end);
  });
  EXPECT_TRUE(done.ok()) << done.error().text();
  return end;
}

class EmbeddingRuns : public testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kError); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }
};

TEST_F(EmbeddingRuns, NegativesAreTheRowsOfTheStepWhateverItsMicroBatchesAndRanks) {
  const TemporaryFolder one;
  write_pairs(one.path);
  const EmbeddingEnd wanted = embedding_end({.folder = one.path});
  ASSERT_EQ(wanted.losses.size(), 4u);
  const std::vector<EmbeddingRun> runs{
      {.accumulation = 2},
      {.flags = {"--loss=CachedMultipleNegativesRankingLoss", "--mini_batch_size=2"}},
      {.ranks = 2},
      {.ranks = 3},
      {.ranks = 2, .accumulation = 3}};
  for (EmbeddingRun run : runs) {
    const TemporaryFolder folder;
    write_pairs(folder.path);
    run.folder = folder.path;
    const EmbeddingEnd got = embedding_end(run);
    const std::string what = fmt::format("{} ranks, accumulation {}, {}", run.ranks,
                                         run.accumulation, fmt::join(run.flags, " "));
    ASSERT_EQ(got.losses.size(), wanted.losses.size()) << what;
    for (size_t i = 0; i < got.losses.size(); ++i)
      EXPECT_NEAR(got.losses[i], wanted.losses[i], 2e-5 * wanted.losses[i]) << what << " " << i;
    EXPECT_NEAR(got.metrics.value("eval_spearman_cosine", 9.0),
                wanted.metrics.value("eval_spearman_cosine", 0.0), 1e-3)
        << what;
  }
}

TableOfTexts table_of(std::vector<std::vector<std::string>> columns) {
  TableOfTexts table;
  for (size_t c = 0; c < columns.size(); ++c) table.columns.push_back(fmt::format("c{}", c));
  table.places.resize(columns[0].size());
  table.lists.resize(columns.size());
  table.texts = std::move(columns);
  return table;
}

TEST(EmbeddingOrder, RowsOfAStepShareNoText) {
  const auto reorder = apart_from_duplicates(
      table_of({{"a", "a", "b", "c", "d", "e"}, {"x", "y", "a", "x", "z", "w"}}));
  std::vector<int64_t> order{0, 1, 2, 3, 4, 5};
  reorder(order, 2);
  EXPECT_EQ(order, (std::vector<int64_t>{0, 4, 1, 3, 2, 5}));
  order = {0, 1, 2, 3, 4, 5};
  reorder(order, 4);  // 0, 4 and 5 can be together; the others fill up
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 6u);
  EXPECT_EQ(order[0], 0);
  EXPECT_EQ(order[1], 4);
  EXPECT_EQ(order[2], 5);
}

// The kind of evaluation follows from the columns.
TEST(EmbeddingEvaluations, FollowTheColumns) {
  const auto none = [](const std::string&) -> Result<std::string> { return std::string(); };
  const std::vector<float> vectors{1, 0, 0, 1, 1, 1};  // of three texts
  TableOfTexts scored = table_of({{"a", "b"}, {"b", "c"}});
  scored.label_column = "score";
  scored.labels_of_row = 1;
  scored.labels = {0, 1};
  const OrderedJson similarity =
      evaluate_embeddings(eval_set_of(scored, none).value(), vectors, 2, "cosine");
  EXPECT_NEAR(similarity["spearman_cosine"].get<double>(), 1, 1e-9);
  EXPECT_NEAR(similarity["pearson_cosine"].get<double>(), 1, 1e-9);

  const TableOfTexts triplets = table_of({{"a", "a"}, {"b", "c"}, {"c", "b"}});
  EXPECT_EQ(evaluate_embeddings(eval_set_of(triplets, none).value(), vectors, 2,
                                "cosine")["cosine_accuracy"],
            OrderedJson(0.5));

  const TableOfTexts pairs = table_of({{"a"}, {"b"}});
  EXPECT_EQ(
      evaluate_embeddings(eval_set_of(pairs, none).value(), vectors, 2, "dot")["dot_recall@1"],
      OrderedJson(1.0));

  TableOfTexts lists = table_of({{"a"}, {""}, {""}});
  lists.lists[1] = {{"c"}};
  lists.lists[2] = {{"b"}};
  const auto set = eval_set_of(lists, none).value();
  EXPECT_EQ(set.texts, (std::vector<std::string>{"a", "c", "b"}));
  EXPECT_EQ(evaluate_embeddings(set, std::vector<float>{1, 0, 1, 1, 0, 1}, 2, "cosine")["map"],
            OrderedJson(1.0));
}

// A policy may name each value; the rows have it, or what it is computed from.
TEST(EmbeddingEvaluations, GiveMetricsThatAPolicyMayName) {
  const auto none = [](const std::string&) -> Result<std::string> { return std::string(); };
  const std::vector<std::string> names = embedding_metric_names();
  TableOfTexts scored = table_of({{"a", "b"}, {"b", "c"}}), lists = table_of({{"a"}, {""}, {""}});
  scored.label_column = "score";
  scored.labels_of_row = 1;
  scored.labels = {0, 1};
  lists.lists[1] = {{"c"}};
  lists.lists[2] = {{"b"}};
  for (const TableOfTexts& table :
       {scored, lists, table_of({{"a"}, {"b"}, {"c"}}), table_of({{"a", "c"}, {"b", "b"}})})
    for (const char* similarity : {"cosine", "dot"}) {
      ExampleScores rows;
      const EmbeddingEvalSet set = eval_set_of(table, none).value();
      OrderedJson values =
          evaluate_embeddings(set, std::vector<float>{1, 0, 0, 1, 1, 1}, 2, similarity, &rows);
      values.erase("samples");
      std::set<std::string> given;
      for (const auto& [name, value] : values.items()) given.insert(name);
      const auto of_kind = embedding_metric_names(set.kind, similarity);
      EXPECT_EQ(given, std::set<std::string>(of_kind.begin(), of_kind.end()));
      ASSERT_EQ(std::ssize(rows.rows()), table.rows());
      for (const auto& [name, value] : values.items()) {
        EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
        for (const OrderedJson& row : rows.rows())
          EXPECT_TRUE(row["scores"].contains(name) || row["scores"].contains("wanted")) << row;
      }
    }
}

}  // namespace
}  // namespace hone

// The page Pipelines: results, verdicts, attempts and errors of steps.
#include "base/core/error_report.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/state.h"
#include "operate/web/pages_test.h"

namespace hone {
namespace {

class PipelinesPage : public PagesTest {
 protected:
  void SetUp() override {
    PagesTest::SetUp();
    put("below/runs/first/run.json", R"({"steps": [
        {"name": "train", "needs": [], "command": ["hone", "train"]},
        {"name": "evaluate", "needs": ["train"], "command": ["hone", "eval", "--hub_token", "verysecretvalue"]},
        {"name": "decide", "needs": ["evaluate"],
         "command": ["hone", "models", "decide", "--policy", "{\"metric\": \"eval_accuracy\"}"]}]})");
    auto state = PipelineState::open(at("below/runs/pipeline.db"));
    ASSERT_TRUE(state.ok());
    state_ = std::move(*state);
    run_.id = "first", run_.pipeline = "news", run_.status = "finished", run_.begun_s = 5;
    ASSERT_TRUE(state_->put(run_).ok());
  }
  StepRow step(const std::string& name, const std::string& status) {
    StepRow s;
    s.run = "first", s.name = name, s.status = status, s.attempts = 1;
    return s;
  }
  OrderedJson step_of(const OrderedJson& run, const std::string& name) {
    for (const OrderedJson& s : run.at("steps"))
      if (text_at(s, "name") == name) return s;
    ADD_FAILURE() << "no step " << name;
    return {};
  }
  std::unique_ptr<PipelineState> state_;
  PipelineRunRow run_;
};

TEST_F(PipelinesPage, StepsHaveTheirResults) {
  put("below/runs/first/train/all_results.json", R"({"train_loss": 1.5, "train_runtime": 3.0})");
  put("below/runs/first/evaluate/eval_run.json", "{}");
  std::string rows;
  for (int i = 0; i < 40; ++i)
    rows += fmt::format(R"({{"id": "{}", "scores": {{"accuracy": {}}}}})"
                        "\n",
                        i, i % 4 == 0 ? 0 : 1);
  put("below/runs/first/evaluate/eval_examples.jsonl", rows);
  ASSERT_TRUE(state_->put(step("train", "done")).ok());
  StepRow evaluate = step("evaluate", "done"), decide = step("decide", "done");
  evaluate.result = {{"eval_accuracy", 0.75}};
  evaluate.attempts = 2;
  evaluate.message = "attempt 1 failed with status 1: H0107  the hub is away";
  decide.result = {{"verdict", "promote"}, {"reason", "accuracy 0.75 against 0.5"}};
  ASSERT_TRUE(state_->put(evaluate).ok());
  ASSERT_TRUE(state_->put(decide).ok());

  const OrderedJson run = json("/api/pipelines/first");
  EXPECT_EQ(text_at(run, "metric"), "accuracy");
  EXPECT_EQ(text_at(run, "verdict"), "promote");
  EXPECT_EQ(run.at("steps_done"), 3);
  EXPECT_EQ(step_of(run, "train").at("metrics").at("train_loss"), 1.5);
  const OrderedJson evaluated = step_of(run, "evaluate"), interval = evaluated.at("interval");
  EXPECT_EQ(evaluated.at("attempts"), 2);
  EXPECT_NE(text_at(evaluated, "message").find("H0107"), std::string::npos);
  ASSERT_TRUE(interval.is_object()) << dump_json(evaluated);
  EXPECT_EQ(interval.at("value"), 0.75);
  EXPECT_LT(interval.at("low"), 0.75);
  EXPECT_GT(interval.at("high"), 0.75);
  EXPECT_EQ(interval.at("rows"), 40);
  EXPECT_EQ(ask("/api/pipelines/first").body.find("verysecret"), std::string::npos);

  const OrderedJson listed = json("/api/pipelines").at("pipelines").at(0);
  EXPECT_EQ(listed.at("steps"), 3);
  EXPECT_EQ(text_at(listed, "verdict"), "promote");
}

TEST_F(PipelinesPage, ASkippedStepIsNotDone) {
  ASSERT_TRUE(state_->put(step("train", "done")).ok());
  ASSERT_TRUE(state_->put(step("evaluate", "done")).ok());
  ASSERT_TRUE(state_->put(step("decide", "skipped")).ok());
  for (const OrderedJson& run :
       {json("/api/pipelines/first"), json("/api/pipelines").at("pipelines").at(0)}) {
    EXPECT_EQ(run.at("steps_done"), 2);
    EXPECT_EQ(run.at("skipped_steps"), OrderedJson::array({"decide"}));
  }
}

TEST_F(PipelinesPage, AFailedStepShowsItsErrorWhole) {
  StepRow failed = step("train", "failed");
  const Error cause = Error(err::kStepFailed, "there is no column 'txt'")
                          .at("rows.jsonl")
                          .todo("name it by --text_column");
  failed.message = "step 'train' failed with status 1";
  failed.result = {{"error", {{"error", failed.message}, {"code", "H3163"}}},
                   {"cause", error_json(cause)}};
  ASSERT_TRUE(state_->put(failed).ok());
  EXPECT_EQ(text_at(step_of(json("/api/pipelines/first"), "decide"), "status"), "pending");
  const OrderedJson run = json("/api/pipelines/first"), shown = step_of(run, "train");
  EXPECT_EQ(text_at(run, "failed_step"), "train");
  EXPECT_TRUE(shown.at("result").is_null());
  EXPECT_EQ(text_at(shown.at("error"), "code"), "H3163");
  EXPECT_EQ(text_at(shown.at("cause"), "error"), "there is no column 'txt'");
  EXPECT_EQ(text_at(shown.at("cause"), "todo"), "name it by --text_column");
  EXPECT_EQ(shown.at("cause").at("where"), OrderedJson::array({"rows.jsonl"}));
}

// As a shell runs it; null if a word of it is not known, or was a secret.
TEST_F(PipelinesPage, CommandsAreResolvedAsTheRunResolvesThem) {
  put("below/runs/first/run.json", R"({"folder": "/home/me", "steps": [
      {"name": "fetch", "needs": [], "command": ["hone", "pull", "${inputs.rows}", "--to", "${out}"], "inputs": {"rows": "my rows"}},
      {"name": "older", "needs": [], "command": ["hone", "pull", "${inputs.rows}"]},
      {"name": "secret", "needs": [], "command": ["hone", "train", "--hub_token", "***"]},
      {"name": "decide", "needs": ["fetch"],
       "command": ["sh", "-c", "cat ${steps.fetch}/n ${cache} ${run}; echo $${HOME} ${steps.fetch.version}"]},
      {"name": "later", "needs": ["decide"], "command": ["echo", "${steps.decide.verdict}"]}]})");
  StepRow fetch = step("fetch", "running");
  ASSERT_TRUE(state_->put(fetch).ok());
  for (const char* name : {"fetch", "decide"})
    EXPECT_TRUE(step_of(json("/api/pipelines/first"), name).at("resolved").is_null()) << name;
  const std::string root = std::filesystem::canonical(at("below")).string() + "/runs";
  const auto expect_fetching_to = [&](const std::string& to, const std::string& made) {
    const OrderedJson shown = step_of(json("/api/pipelines/first"), "fetch");
    EXPECT_EQ(shown.at("resolved"), OrderedJson::array({"hone", "pull", "my rows", "--to", to}));
    EXPECT_EQ(text_at(shown, "output_folder"), made);
  };
  put("below/runs/first/fetch.part/n", "1");
  expect_fetching_to(root + "/first/fetch.part", "");
  std::filesystem::rename(at("below/runs/first/fetch.part"), at("below/runs/first/fetch"));
  fetch.status = "failed";
  ASSERT_TRUE(state_->put(fetch).ok());
  expect_fetching_to(root + "/first/fetch", "");
  // A finished step keeps what it wrote.
  fetch.status = "done";
  fetch.result = {{"version", 3}};
  ASSERT_TRUE(state_->put(fetch).ok());
  expect_fetching_to("again/first/fetch", "again/first/fetch");
  const OrderedJson run = json("/api/pipelines/first");
  EXPECT_EQ(text_at(run, "folder"), "/home/me");
  EXPECT_EQ(
      step_of(run, "decide").at("resolved"),
      OrderedJson::array(
          {"sh", "-c", "cat " + root + "/first/fetch/n " + root + "/cache first; echo ${HOME} 3"}));
  for (const char* name : {"older", "secret", "later"})
    EXPECT_TRUE(step_of(run, name).at("resolved").is_null()) << name;
}

// Files that a command recorded, such as the sources of token shards, have the same names when it is typed again.
TEST_F(PipelinesPage, CommandsNameFoldersAsTheRunDid) {
  const std::string below = std::filesystem::canonical(at("below")).string();
  put("below/runs/first/run.json", R"({"folder": ")" + below + R"(", "steps": [
      {"name": "fetch", "needs": [], "command": ["hone", "pull", "rows", "--to", "${out}"]},
      {"name": "prepare", "needs": ["fetch"],
       "command": ["hone", "prepare", "--dataset_name", "${steps.fetch}/rows", "--output_dir", "${out}"]}]})");
  put("below/runs/first/fetch/rows", "1");
  put("below/runs/first/prepare.part/n", "1");
  ASSERT_TRUE(state_->put(step("fetch", "done")).ok());
  ASSERT_TRUE(state_->put(step("prepare", "failed")).ok());
  const auto expect_root = [&](const std::string& given, const std::string& named) {
    run_.folder = given;
    ASSERT_TRUE(state_->put(run_).ok());
    EXPECT_EQ(step_of(json("/api/pipelines/first"), "prepare").at("resolved"),
              OrderedJson::array({"hone", "prepare", "--dataset_name", named + "/first/fetch/rows",
                                  "--output_dir", named + "/first/prepare.part"}));
  };
  expect_root("runs", "runs");
  expect_root(below + "/./runs", below + "/./runs");
  expect_root("elsewhere", below + "/runs");  // the runs were moved
}

TEST_F(PipelinesPage, OutputOfACheckIsItsFindings) {
  const auto lines_of = [&](const std::string& out) {
    put("below/runs/first/logs/train.out", out);
    return json("/api/pipelines/first/train").at("lines");
  };
  ASSERT_TRUE(state_->put(step("train", "done")).ok());
  EXPECT_EQ(lines_of(R"({"errors": 1, "findings": [
      {"level": "note", "id": "short", "what": "the rows are short", "where": "", "do": ""},
      {"level": "error", "id": "H2109", "what": "no column 'text'", "where": "a.jsonl", "do": "name it"}]})"
                     "\n"),
            OrderedJson::array({"error   H2109: no column 'text'", "  at   a.jsonl",
                                "  do   name it", "note    short: the rows are short", ""}));
  EXPECT_EQ(lines_of("{\"findings\": []}").at(0), "no findings");
  EXPECT_EQ(lines_of("{\"version\": 3}\n").at(1), "  \"version\": 3");
  EXPECT_EQ(lines_of("one\ntwo"), OrderedJson::array({"one", "two"}));
}

TEST_F(PipelinesPage, ARunningStepOfALostRunIsLost) {
  run_.status = "running";  // and no process has its number
  ASSERT_TRUE(state_->put(run_).ok());
  ASSERT_TRUE(state_->put(step("train", "running")).ok());
  const OrderedJson run = json("/api/pipelines/first");
  EXPECT_EQ(text_at(run, "status"), "lost");
  EXPECT_EQ(text_at(step_of(run, "train"), "status"), "lost");
  EXPECT_FALSE(run.contains("running_step"));
}

TEST_F(PipelinesPage, FilesOfOtherProgramsBesideItAreNoResults) {
  put("below/runs/first/train/all_results.json", "[1, 2");
  put("below/runs/first/evaluate/eval_examples.jsonl", "not json\n");
  ASSERT_TRUE(state_->put(step("train", "done")).ok());
  ASSERT_TRUE(state_->put(step("evaluate", "done")).ok());
  const OrderedJson run = json("/api/pipelines/first");
  EXPECT_TRUE(step_of(run, "train").at("metrics").empty());
  EXPECT_TRUE(step_of(run, "evaluate").at("interval").is_null());
}

}  // namespace
}  // namespace hone

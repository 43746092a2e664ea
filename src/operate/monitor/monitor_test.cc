#include "operate/monitor/monitor.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/store/http.h"
#include "learn/train/settings.h"
#include "operate/http/errors.h"
#include "operate/monitor/errors.h"
#include "operate/monitor/run_list.h"
#include "operate/monitor/usage_metrics.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Metrics, GpusHaveTheNamesOfDcgm) {
  Metrics m;
  Usage u;
  u.gpus.push_back({.index = 1,
                    .name = "H100",
                    .uuid = "GPU-7",
                    .busy_share = 0.97,
                    .memory_used_bytes = int64_t{3} << 30,
                    .power_watts = 412.5});
  put_usage(m, u, "host");
  const std::string text = prometheus_text(m);
  const std::string labels = "{gpu=\"1\",UUID=\"GPU-7\",modelName=\"H100\",Hostname=\"host\"}";
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_GPU_UTIL" + labels + " 97.0\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_FB_USED" + labels + " 3072.0\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_POWER_USAGE" + labels + " 412.5\n"));
  EXPECT_THAT(text, Not(HasSubstr("GPU_TEMP")));  // the card does not say it
}

TEST(Metrics, EachRankHasTheTimesOfItsSteps) {
  Metrics m;
  put_rank_times(m, {{0, "a", 0, 0, 0}, {1, "b", 20, 0.25, 0.5}});
  const std::string text = prometheus_text(m);
  EXPECT_THAT(text,
              HasSubstr("hone_rank_busy_seconds{rank=\"1\",host=\"b\",quantile=\"0.5\"} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("quantile=\"0.99\"} 0.5\n"));
  EXPECT_THAT(text, Not(HasSubstr("rank=\"0\"")));  // it has no step yet
}

TEST(MetricsServer, AnswersAndRefuses) {
  Metrics m;
  m.gauge("hone_x", "X.").set(7);
  const auto server = std::move(MetricsServer::start(m, "127.0.0.1", 0).value());
  const std::string at = "http://127.0.0.1:" + std::to_string(server->port());
  HttpClient http;
  const HttpResponse got = http.get(at + "/metrics?x=1").value();
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.body, "# HELP hone_x X.\n# TYPE hone_x gauge\nhone_x 7.0\n");
  EXPECT_EQ(got.header("content-type"), kPrometheusType);
  EXPECT_EQ(http.get(at + "/healthz").value().body, "ok\n");
  EXPECT_EQ(http.get(at + "/../etc/passwd").value().status, 404);
  EXPECT_EQ(http.send({.method = "POST", .url = at + "/metrics"}).value().status, 405);
  const auto second = MetricsServer::start(m, "192.0.2.1", 0);  // not of this machine
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(std::string(second.error().code()), err::kHttpListen.id);
  EXPECT_FALSE(MetricsServer::start(m, "no address", 0).ok());
}

RunInfo info_in(const std::string& folder, const std::string& id) {
  RunInfo info;
  info.id = id;
  info.name = "name of " + id;
  info.output_dir = folder;
  info.batch_size = 4;
  info.begun_s = system_clock().wall_seconds();
  info.machine.host = "here";
  info.machine.memory_bytes = 1 << 30;
  return info;
}

int free_port() {
  const Metrics none;
  return std::move(MetricsServer::start(none, "127.0.0.1", 0).value())->port();
}

TEST(Monitor, RunsAreRowsWhateverTheirEnd) {
  const std::string folder = testing::TempDir() + "/runs_" + new_run_id();
  ASSERT_TRUE(file_store().make_dirs(folder + "/a").ok());
  TrainSettings s;
  {
    const auto m = std::move(Monitor::begin(s, info_in(folder + "/a", "refused1")).value());
    m->end(Error(err::kNoRun, "does not fit").at("--folder out").todo("name another"));
  }
  s.metrics_port = free_port();
  {
    const auto m = std::move(Monitor::begin(s, info_in(folder + "/a", "finished")).value());
    m->ready(123);
    const auto c = m->callback();
    ASSERT_TRUE(c->on_train_begin({.step = 0, .total_steps = 2, .epoch = 0}).ok());
    c->on_step_end({.step = 2, .total_steps = 2, .epoch = 1}, {.loss = 2,
                                                               .seconds = 4,
                                                               .steps = 2,
                                                               .tokens = 64,
                                                               .rows = 8,
                                                               .data_seconds = 0.5,
                                                               .save_seconds = 1.25});
    c->on_save({.step = 2, .total_steps = 2, .epoch = 1}, folder + "/a/checkpoint-2", 2.5);
    const std::string text =
        HttpClient().get(fmt::format("http://127.0.0.1:{}/metrics", s.metrics_port)).value().body;
    EXPECT_THAT(text, HasSubstr("\nhone_train_data_wait_seconds_total 0.5\n"));
    EXPECT_THAT(text, HasSubstr("\nhone_train_save_wait_seconds_total 1.25\n"));
    EXPECT_THAT(text, HasSubstr("\nhone_checkpoint_write_seconds 2.5\n"));
    const std::string log = file_store().read(folder + "/a/hone_log.jsonl").value();
    EXPECT_THAT(log, HasSubstr("\"seconds\": 2.5"));
    log_info("a \"line\" of the run");
    ASSERT_TRUE(
        c->on_log({.step = 2, .total_steps = 2, .epoch = 1}, {{"loss", 2.0}, {"grad_norm", NAN}})
            .ok());
    m->end(RunEnd{}, {{"train_loss", 2.5}});
  }
  s.metrics_port = 0;
  { const auto m = std::move(Monitor::begin(s, info_in(folder + "/a", "a_bug")).value()); }
  // A crash leaves half of a line.
  auto w = std::move(file_store().append(folder + "/a/hone_log.jsonl").value());
  ASSERT_TRUE(w->write(R"({"severity": "INFO", "event": "log", "met)").ok());
  w.reset();

  const std::vector<RunRow> rows = find_runs({folder}).value();
  ASSERT_EQ(rows.size(), 3u);
  const double now = system_clock().wall_seconds();
  EXPECT_EQ(rows[0].status(now), "refused");
  EXPECT_EQ(rows[0].end["code"], "H3112");
  EXPECT_EQ(rows[0].end["where"], OrderedJson::array({"--folder out"}));
  EXPECT_EQ(rows[0].end["todo"], "name another");
  EXPECT_EQ(rows[1].status(now), "finished");
  EXPECT_EQ(rows[1].step, 2);
  EXPECT_EQ(rows[1].planned_bytes, 123);
  EXPECT_EQ(rows[1].end["examples_per_second"], 2.0);
  EXPECT_EQ(rows[1].metrics["loss"], 2.0);
  const OrderedJson progress{
      {"total_steps", 2}, {"steps", 2}, {"tokens", 64}, {"examples", 8}, {"seconds", 4.0}};
  EXPECT_EQ(rows[1].progress, progress);
  EXPECT_TRUE(rows[1].metrics["grad_norm"].is_null());
  EXPECT_EQ(rows[2].status(now), "failed");
  EXPECT_EQ(run_cells(rows[1], now).size(), run_columns().size());
  EXPECT_THAT(run_cells(rows[0], now), testing::Contains("H3112 does not fit"));
  EXPECT_EQ(find_run("finished", {folder}).value().step, 2);
  EXPECT_EQ(find_run(folder + "/a/", {"/nowhere"}).value().run["id"], "a_bug");
  // A step that a pipeline reuses: the same runs in another folder.
  std::filesystem::copy(folder + "/a", folder + "/copy", std::filesystem::copy_options::recursive);
  EXPECT_EQ(find_runs({folder}).value().size(), 3u);
  const auto none = find_run("other", {folder});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(std::string(none.error().code()), err::kNoRun.id);
}

TEST(Monitor, TheBestEvaluationIsKnownByTheMetricOfTheRun) {
  const std::string folder = testing::TempDir() + "/best_" + new_run_id();
  ASSERT_TRUE(file_store().make_dirs(folder).ok());
  for (const bool greater : {true, false}) {
    TrainSettings s;
    s.metric_for_best_model = "rouge1";
    s.greater_is_better = greater;
    const auto m =
        std::move(Monitor::begin(s, info_in(folder, greater ? "greater" : "lower")).value());
    const auto c = m->callback();
    for (const int64_t step : {1, 2, 3})
      ASSERT_TRUE(c->on_log({.step = step, .total_steps = 3, .epoch = 0},
                            {{"eval_rouge1", step == 2 ? 0.75 : 0.25 * static_cast<double>(step)}})
                      .ok());
    m->end(RunEnd{});
  }
  const OrderedJson most{{"name", "eval_rouge1"}, {"value", 0.75}, {"step", 2}};
  EXPECT_EQ(find_run("greater", {folder}).value().best, most);  // the first of equal ones
  EXPECT_EQ(find_run("lower", {folder}).value().best["step"], 1);
}

TEST(RunList, TagsAreALineOfTheLogAndNoSignOfLife) {
  const std::string folder = testing::TempDir() + "/tags_" + new_run_id();
  ASSERT_TRUE(file_store().make_dirs(folder).ok());
  const std::string begin =
      R"({"time": "2026-05-04T12:00:00Z", "logging.googleapis.com/labels": {"run": "r"}, "event": "begin", "run": {"id": "r", "begun_s": 1}})"
      "\n";
  ASSERT_TRUE(file_store().write(folder + "/hone_log.jsonl", begin + "{\"half a").ok());
  for (const std::vector<std::string>& tags :
       {std::vector<std::string>{"a \"word\"", "b"}, std::vector<std::string>{"only"}, {}}) {
    ASSERT_TRUE(tag_run(find_run("r", {folder}).value(), tags).ok());
    const RunRow row = find_run("r", {folder}).value();
    EXPECT_EQ(row.tags, tags);
    EXPECT_EQ(row.last_time, "2026-05-04T12:00:00Z");
  }
}

TEST(RunList, AProcessThatIsGoneIsLostAndOneThatContinuesIsOneRun) {
  const std::string begin =
      R"({"time": "2026-05-04T12:00:00Z", "logging.googleapis.com/labels": {"run": "r"}, "event": "begin", "run": {"id": "r", "begun_s": 1}})"
      "\n";
  const std::string log =
      R"({"time": "2026-05-04T12:01:00Z", "logging.googleapis.com/labels": {"run": "r", "step": "7"}, "event": "log", "metrics": {"loss": 1}})"
      "\n";
  const double at = 1777896060;  // 12:01
  std::vector<RunRow> rows = runs_in_log(begin + log, "x");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].status(at + 10), "running");
  EXPECT_EQ(rows[0].status(at + 1000), "lost");
  EXPECT_EQ(rows[0].step, 7);
  rows = runs_in_log(begin + log + begin + "no json \"event\"\n[\"event\"]\n", "x");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].attempts, 2);
  EXPECT_THAT(runs_in_log("", "x"), ElementsAre());
}

RunRow row_of(const std::string& id, const std::string& status, double learning_rate,
              OrderedJson metrics) {
  RunRow row{.log = "out/hone_log.jsonl", .attempts = 1, .metrics = std::move(metrics)};
  row.run = {{"id", id}, {"name", "out"}, {"settings", {{"learning_rate", learning_rate}}}};
  if (!status.empty()) row.end = {{"status", status}};
  return row;
}

TEST(RunList, AttemptsOfARunAreInItsRow) {
  RunRow again = row_of("b", "failed", 0.1, {{"eval_loss", 2}});
  again.run["settings"]["resume_from_checkpoint"] = "out/checkpoint-2";
  const std::vector<RunRow> runs =
      with_attempts({row_of("a", "", 0.1, {{"loss", 3}, {"eval_loss", 4}}), again,
                     row_of("c", "finished", 0.1, nullptr), row_of("d", "finished", 0.1, nullptr),
                     row_of("e", "failed", 0.2, nullptr)});
  ASSERT_EQ(runs.size(), 3u) << "a finished run and other settings begin another one";
  EXPECT_EQ(runs[0].run["id"], "c");
  EXPECT_EQ(runs[0].attempts, 3);
  EXPECT_EQ(runs[0].metrics, (OrderedJson{{"loss", 3}, {"eval_loss", 2}}));
  ASSERT_EQ(runs[0].earlier.size(), 2u);
  EXPECT_EQ(runs[0].earlier[0].run["id"], "a");
  EXPECT_EQ(runs[0].earlier[1].run["id"], "b");
  EXPECT_EQ(runs[1].run["id"], "d");
  EXPECT_EQ(runs[2].run["id"], "e");
}

TEST(RunList, AttemptsOfAnOutputFolderAreOneRun) {
  RunRow first = row_of("a", "finished", 0.1, {{"loss", 3}});
  first.first_step = 0, first.step = 2, first.end["results"] = {{"train_loss", 3}};
  RunRow idle = row_of("b", "finished", 0.1, nullptr);
  idle.ended_before = true, idle.end["results"] = {{"eval_loss", 4}};
  std::vector<RunRow> runs = with_attempts({first, row_of("c", "refused", 0.2, nullptr), idle});
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].run["id"], "c");
  EXPECT_EQ(runs[1].run["id"], "a") << "the attempt that trained has the curves";
  EXPECT_EQ(runs[1].attempts, 2);
  EXPECT_EQ(runs[1].step, 2);
  EXPECT_EQ(results_of(runs[1]), (OrderedJson{{"loss", 3}, {"train_loss", 3}, {"eval_loss", 4}}));
  EXPECT_EQ(runs[1].earlier.at(0).run["id"], "b");

  EXPECT_EQ(runs[1].evaluator["id"], "b");

  RunRow more = row_of("d", "finished", 0.2, {{"loss", 2}});  // more steps, at another rate
  more.first_step = 2, more.step = 4, more.run["output_dir"] = "out";
  runs = with_attempts({first, idle, more});
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].run["id"], "d");
  EXPECT_EQ(runs[0].attempts, 3);
  EXPECT_EQ(runs[0].metrics, (OrderedJson{{"loss", 2}}));
  EXPECT_EQ(runs[0].evaluator["id"], "b") << "it did not evaluate";
  more.metrics["eval_loss"] = 1;
  EXPECT_TRUE(with_attempts({first, idle, more})[0].evaluator.is_null());

  RunRow other = more;  // of another folder's checkpoint
  other.run["settings"]["resume_from_checkpoint"] = "elsewhere/checkpoint-2";
  EXPECT_EQ(with_attempts({first, other}).size(), 2u);
  other.run["settings"]["resume_from_checkpoint"] = "out/checkpoint-2";
  EXPECT_EQ(with_attempts({first, other}).size(), 1u);
}

TEST(RunList, TheNewestEvaluationOfAStepIsTheBestOne) {
  const auto best = [](double value, int64_t step) {
    return OrderedJson{{"name", "eval_f1"}, {"value", value}, {"step", step}};
  };
  RunRow first = row_of("a", "finished", 0.1, {{"eval_f1", 0.9}});
  first.first_step = 0, first.best = best(0.9, 8);
  RunRow idle = row_of("b", "finished", 0.1, {{"eval_f1", 0.5}});
  idle.ended_before = true, idle.best = best(0.5, 8);
  EXPECT_EQ(with_attempts({first, idle})[0].best, best(0.5, 8));
  idle.best = best(0.5, 12);
  EXPECT_EQ(with_attempts({first, idle})[0].best, best(0.9, 8)) << "of another step";
}

TEST(RunList, AnIdFindsTheRunWithTheEvaluationOfItsLastAttempt) {
  const std::string folder = testing::TempDir() + "/again_" + new_run_id();
  ASSERT_TRUE(file_store().make_dirs(folder).ok());
  const auto attempt = [](const std::string& id, const std::string& event, double f1) {
    const std::string head =
        R"({"time": "2026-05-04T12:00:00Z", "logging.googleapis.com/labels": {"run": ")" + id +
        R"(", "step": "8"}, "event": )";
    return head + R"("begin", "run": {"id": ")" + id + R"(", "begun_s": 1}})" + "\n" + head +
           event + "}\n" + head +
           fmt::format(R"("end", "status": "finished", "results": {{"eval_f1": {}}}}})", f1) + "\n";
  };
  ASSERT_TRUE(file_store()
                  .write(folder + "/hone_log.jsonl",
                         attempt("a", R"("progress", "progress": {"steps": 8})", 0.75) +
                             attempt("b", R"("ended_before")", 0.5))
                  .ok());
  EXPECT_EQ(results_of(find_run("a", {folder}).value())["eval_f1"], 0.5);
  EXPECT_EQ(find_run("a", {folder}).value().attempts, 2);
  EXPECT_EQ(find_run("b", {folder}).value().attempts, 1) << "an attempt alone";
}

TEST(RunList, TheLogTellsWhereAnAttemptBegan) {
  const auto line = [](const std::string& step, const std::string& event) {
    return R"({"time": "2026-05-04T12:00:00Z", "logging.googleapis.com/labels": {"run": "r")" +
           (step.empty() ? "" : R"(, "step": ")" + step + "\"") + R"(}, "event": )" + event + "}\n";
  };
  const std::string begin = line("", R"("begin", "run": {"id": "r"})"),
                    progress = R"("progress", "progress": {"steps": 0})";
  EXPECT_EQ(runs_in_log(begin, "x")[0].first_step, -1);
  EXPECT_EQ(runs_in_log(begin + line("2", progress) + line("3", progress), "x")[0].first_step, 2);
  EXPECT_TRUE(runs_in_log(begin + line("2", R"("ended_before")"), "x")[0].ended_before);
}

}  // namespace
}  // namespace hone

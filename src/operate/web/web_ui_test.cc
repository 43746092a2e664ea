#include "operate/web/web_ui.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/store/http.h"
#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "operate/pipeline/state.h"
#include "operate/registry/registry.h"
#include "operate/web/errors.h"
#include "operate/web/pages.h"
#include "operate/web/pages_test.h"

namespace hone {
namespace {

const std::string kHtml = "<img src=x onerror=alert(1)>";

std::string log_line(const std::string& id, const std::string& more, const std::string& step = "") {
  return fmt::format(
      R"({{"severity": "INFO", "message": "", "time": "2020-11-26T12:00:00.000000Z", )"
      R"("logging.googleapis.com/labels": {{"run": "{}"{}}}, {}}})"
      "\n",
      id, step.empty() ? "" : fmt::format(R"(, "step": "{}")", step), more);
}

class WebUiTest : public PagesTest {
 protected:
  void SetUp() override {
    PagesTest::SetUp();
    put("secret.jsonl", R"({"text": "outside"})"
                        "\n");
    put("below/rows.jsonl", R"({"text": "the cat", "label": "good"})"
                            "\n"
                            R"({"text": "a dog", "label": "bad"})"
                            "\n");
    put("below/out/hone_log.jsonl",
        log_line(
            "abc",
            R"("event": "begin", "run": {"id": "abc", "name": ")" + kHtml +
                R"(", "task": "clm", "begun_s": 5.0, "settings": {"hub_token": "hf_verysecretvalue12345678"}})") +
            log_line("abc", R"("event": "plan", "planned_bytes": 4096)") +
            log_line("abc", R"("event": "log", "metrics": {"loss": 2.5, "learning_rate": 0.1})",
                     "1") +
            log_line("abc", R"("event": "log", "metrics": {"loss": 1.5, "eval_loss": 2.0})", "2") +
            R"({"severity": "INFO", "message": "half a li)");
    options_.error_page = [](const std::string& code) {
      return code == "H2404" ? "# H2404: too large\n\n**When.** Always." : "";
    };
    ui();
  }
};

TEST_F(WebUiTest, PagesCarryNoScriptOfTheirOwnAndForbidAnyOtherPlace) {
  for (const char* path : {"/", "/runs", "/pipelines", "/models", "/playground", "/data",
                           "/style.css", "/common.js", "/curves.js"}) {
    const HttpResponse page = ask(path);
    EXPECT_EQ(page.status, 200) << path;
    const std::string policy = page.header("content-security-policy");
    EXPECT_NE(policy.find("default-src 'none'; script-src 'self'"), std::string::npos) << path;
    EXPECT_EQ(policy.find("unsafe"), std::string::npos) << path;
    EXPECT_EQ(page.header("x-content-type-options"), "nosniff");
  }
  for (const char* path : {"/../secret.jsonl", "/%2e%2e/secret.jsonl", "/nothing"})
    EXPECT_EQ(ask(path).status, 404) << path;
  for (const WebPage& page : web_pages()) {
    for (const char* never : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                              "eval(", "<script>", " onclick=", " style="})
      EXPECT_EQ(page.text.find(never), std::string_view::npos) << page.name << " has " << never;
    // Names of standards are the only addresses.
    for (size_t at = page.text.find("http"); at != std::string_view::npos;
         at = page.text.find("http", at + 4))
      EXPECT_TRUE(page.text.substr(at).starts_with("http://www.w3.org/"))
          << page.name << ": " << page.text.substr(at, 40);
  }
}

TEST_F(WebUiTest, RunsAreListedAndFollowedByACursor) {
  const OrderedJson list = json("/api/runs").at("runs");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(text_at(list[0], "name"), kHtml);
  EXPECT_EQ(text_at(list[0], "status"), "lost");
  const HttpResponse raw = ask("/api/runs/abc");
  EXPECT_EQ(raw.header("content-type"), "application/json");  // a text in it is never a page
  EXPECT_EQ(raw.body.find("verysecret"), std::string::npos);
  const OrderedJson run = json("/api/runs/abc");
  ASSERT_EQ(run.at("points").size(), 2u);
  EXPECT_EQ(run.at("points")[1].at("step"), 2);
  EXPECT_EQ(run.at("points")[1].at("metrics").at("loss"), 1.5);
  EXPECT_EQ(run.at("memory_planned_bytes"), 4096);
  // Only what follows, and a half line not before it is whole.
  const int64_t next = run.at("next").get<int64_t>();
  EXPECT_TRUE(json(fmt::format("/api/runs/abc?from={}", next)).at("points").empty());
  EXPECT_EQ(text_at(json("/api/runs/abc?from=zzz", 400), "error"), "'zzz' is not a whole number");
  auto more = file_store().append(folder_.path + "/below/out/hone_log.jsonl");
  ASSERT_TRUE(more.ok());
  ASSERT_TRUE(
      (*more)
          ->write("ne\"}\n" + log_line("abc", R"("event": "log", "metrics": {"loss": 0.5})", "3"))
          .ok());
  ASSERT_TRUE((*more)->commit().ok());
  const OrderedJson after = json(fmt::format("/api/runs/abc?from={}", next));
  ASSERT_EQ(after.at("points").size(), 1u);
  EXPECT_EQ(after.at("points")[0].at("metrics").at("loss"), 0.5);
  EXPECT_EQ(after.at("step"), 3);
  // A file of another run in its place, longer than the former one.
  put("below/out/hone_log.jsonl",
      log_line("new", R"("event": "begin", "run": {"id": "new", "begun_s": 6.0, "name": ")" +
                          std::string(4096, 'x') + R"("})"));
  const OrderedJson replaced = json("/api/runs").at("runs");
  ASSERT_EQ(replaced.size(), 1u);
  EXPECT_EQ(text_at(replaced[0], "id"), "new");
}

TEST_F(WebUiTest, RunsHaveTheMetricOfTheTablesOfATerminal) {
  const auto put_run = [&](const std::string& id, const std::string& metrics,
                           const std::string& results) {
    ASSERT_TRUE(file_store().make_dirs(folder_.path + "/below/" + id).ok());
    put("below/" + id + "/hone_log.jsonl",
        log_line(id,
                 R"("event": "begin", "run": {"begun_s": 9, "task": "clm", "id": ")" + id + "\"}") +
            log_line(id, R"("event": "log", "metrics": )" + metrics) +
            log_line(id, R"("event": "end", "results": )" + results));
  };
  put_run("trained", R"({"loss": 3.0})", R"({"train_loss": 3.5})");
  EXPECT_TRUE(json("/api/runs/trained").at("metric").is_null()) << "it has a column of its own";
  put_run("evaluated", R"({"eval_loss": 2.0})", R"({"eval_loss_per_token": 2.5})");
  EXPECT_EQ(json("/api/runs/evaluated").at("metric"),
            (OrderedJson{{"name", "eval_loss_per_token"}, {"value", 2.5}}));
}

TEST_F(WebUiTest, RunsHaveTheFactsThatDecideTheRowsThatTheyEvaluated) {
  const auto evaluated = [&](const std::string& id, const std::string& file) {
    const OrderedJson run = {{"id", id},
                             {"begun_s", 9},
                             {"settings", {{"validation_file", OrderedJson::array({file})}}}};
    put("below/" + id + "/hone_log.jsonl",
        log_line(id, R"("event": "begin", "run": )" + dump_json(run)) +
            log_line(id, R"("event": "end", "results": {"eval_loss": 2.0, "eval_samples": 7})"));
    return json("/api/runs/" + id).at("evaluated");
  };
  const OrderedJson one = evaluated("one", "a.jsonl");
  EXPECT_EQ(one.at("samples"), 7);
  EXPECT_EQ(one, evaluated("same", "a.jsonl"));
  EXPECT_NE(one, evaluated("other", "b.jsonl"));
}

TEST_F(WebUiTest, CopiesOfAPipelineHaveTheNamesOfWhatTheyAreCopiesOf) {
  put("below/runs/one/download/hone_origin.json", R"({"model": "org/t5", "dataset": "ferries"})");
  const OrderedJson settings = {{"model_name_or_path", "runs/one/download/model"},
                                {"train_file", {"runs/one/download/data/train.jsonl"}},
                                {"source_prefix", "a/b"}};
  put("below/copy/hone_log.jsonl",
      log_line("copy", R"("event": "begin", "run": {"id": "copy", "begun_s": 9, "folder": ")" +
                           at("below") + R"(", "model": "runs/one/download/model", "settings": )" +
                           dump_json(settings) + "}") +
          log_line("copy", R"("event": "end", "results": {"memory_bytes": 5, "eval_f1": 1})"));
  const OrderedJson run = json("/api/runs/copy");
  EXPECT_EQ(text_at(run, "model"), "org/t5");
  EXPECT_EQ(run.at("names"),
            (OrderedJson{{"model_name_or_path", "org/t5"}, {"train_file", {"ferries"}}}));
  EXPECT_EQ(run.at("run").at("settings"), settings);
  EXPECT_EQ(run.at("lower_is_better"), OrderedJson::array({"memory_bytes"}));
}

TEST_F(WebUiTest, RunsHaveTheirProgressBestValueAndTags) {
  const std::string begin =
      R"("event": "begin", "run": {"id": "best", "begun_s": 9, "best_metric": {"name": "eval_rouge1", "greater_is_better": true}})";
  const std::string progress =
      R"("progress": {"total_steps": 8, "steps": 3, "tokens": 96, "examples": 12, "seconds": 2.5})";
  ASSERT_TRUE(file_store().make_dirs(folder_.path + "/below/best").ok());
  put("below/best/hone_log.jsonl",
      log_line("best", begin) +
          log_line("best", R"("event": "log", "metrics": {"eval_rouge1": 0.5})", "2") +
          log_line("best", R"("event": "log", "metrics": {"eval_rouge1": 0.25}, )" + progress,
                   "3") +
          log_line("best", R"("event": "progress", )" + progress, "3") +
          log_line("best", R"("event": "tags", "tags": ["old"])") +
          log_line("best", R"("event": "tags", "tags": ["baseline", "a, b"])"));
  const OrderedJson run = json("/api/runs/best");
  EXPECT_EQ(run.at("best").at("value"), 0.5);
  EXPECT_EQ(run.at("best").at("step"), 2);
  EXPECT_EQ(run.at("progress").at("total_steps"), 8);
  ASSERT_EQ(run.at("progress_points").size(), 2u);
  EXPECT_EQ(run.at("progress_points")[1].at("step"), 3);
  EXPECT_EQ(run.at("progress_points")[1].at("tokens"), 96);
  EXPECT_EQ(run.at("tags"), OrderedJson::array({"baseline", "a, b"}));
}

TEST_F(WebUiTest, PagesOfErrorsAreServed) {
  EXPECT_EQ(text_at(json("/api/errors/H2404"), "text"), "# H2404: too large\n\n**When.** Always.");
  for (const char* path : {"/api/errors", "/api/errors/H9999", "/api/errors/H2404/more"})
    EXPECT_EQ(text_at(json(path, 404), "code"), "H3502") << path;
  EXPECT_EQ(text_at(json("/api/errors/H9999", 404), "error"), "no error has the code 'H9999'");
}

TEST_F(WebUiTest, ARunThatWasContinuedIsListedOnce) {
  const auto attempt = [](const std::string& id, const std::string& end) {
    return log_line(id, R"("event": "begin", "run": {"id": ")" + id +
                            R"(", "begun_s": 7, "settings": {"seed": 1}})") +
           log_line(id, R"("event": "end", "status": ")" + end + "\"");
  };
  ASSERT_TRUE(file_store().make_dirs(folder_.path + "/below/tries").ok());
  put("below/tries/hone_log.jsonl", attempt("one", "stopped") + attempt("two", "finished"));
  const OrderedJson runs = json("/api/runs").at("runs");
  ASSERT_EQ(runs.size(), 2u);  // with the run of the fixture
  EXPECT_EQ(text_at(runs[0], "id"), "two");
  EXPECT_EQ(runs[0].at("attempts"), 2);
  EXPECT_EQ(text_at(json("/api/runs/one"), "status"), "stopped");
}

TEST_F(WebUiTest, ARunHasTheNewestEvaluationOfItsAttempts) {
  const auto attempt = [](const std::string& id, double begun, const std::string& file,
                          const std::string& event, const std::string& evaluation) {
    const OrderedJson run = {{"id", id},
                             {"task", "classification"},
                             {"begun_s", begun},
                             {"settings", {{"validation_file", {file}}}}};
    return log_line(id, R"("event": "begin", "run": )" + dump_json(run)) +
           log_line(id, R"("event": )" + event, "8") +
           log_line(id, R"("event": "log", "metrics": )" + evaluation, "8") +
           log_line(id, R"("event": "end", "status": "finished", "results": )" + evaluation);
  };
  const std::string progress = R"("progress", "progress": {"steps": 8})";
  put("below/again/hone_log.jsonl",
      attempt("one", 7, "a.csv", progress, R"({"eval_accuracy": 0.75, "eval_samples": 60})") +
          attempt("two", 9, "b.csv", R"("ended_before")",
                  R"({"eval_accuracy": 0.5, "eval_samples": 30})"));
  const OrderedJson listed = json("/api/runs").at("runs").at(0), run = json("/api/runs/one");
  for (const char* key : {"id", "metric", "metrics", "evaluated", "attempts", "end"})
    EXPECT_EQ(run.at(key), listed.at(key)) << key;
  EXPECT_EQ(run.at("metric").at("value"), 0.5);
  EXPECT_EQ(run.at("evaluated").at("samples"), 30);
  EXPECT_EQ(run.at("evaluated").at("files"), OrderedJson::array({"b.csv"}));
  ASSERT_EQ(run.at("points").size(), 2u);
  EXPECT_EQ(run.at("points")[1].at("metrics").at("eval_accuracy"), 0.5);
  EXPECT_EQ(run.at("progress_points").size(), 1u);
  EXPECT_EQ(json("/api/runs/two").at("points").size(), 1u) << "an attempt alone";
}

TEST_F(WebUiTest, ARunHasTheHashOfTheRowsThatItWasTrainedOn) {
  const OrderedJson run = {{"id", "one"}, {"begun_s", 7}, {"settings", {{"train_file", "a.csv"}}}};
  put("below/one/hone_log.jsonl", log_line("one", R"("event": "begin", "run": )" + dump_json(run)));
  EXPECT_TRUE(json("/api/runs/one").at("training_rows").is_null());
  const auto record = [&](const std::string& file) {
    put("below/one/hone_run.json",
        R"({"run": {"data": "12ab", "settings": {"source": {"train_file": ")" + file + R"("}}}})");
    return json("/api/runs/one").at("training_rows");
  };
  EXPECT_EQ(text_at(record("a.csv"), "hash"), "12ab");
  EXPECT_TRUE(record("b.csv").is_null()) << "of another run";
}

TEST_F(WebUiTest, ACopiedRunIsListedOnce) {
  const std::string log = file_store().read(folder_.path + "/below/out/hone_log.jsonl").value();
  ASSERT_TRUE(file_store().make_dirs(folder_.path + "/below/reused").ok());
  put("below/reused/hone_log.jsonl", log);
  const OrderedJson runs = json("/api/runs").at("runs");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(text_at(runs[0], "id"), "abc");
}

TEST_F(WebUiTest, ARunIsExportedAsOneFileThatAsksForNothing) {
  const HttpResponse file = ask("/api/runs/abc/export");
  ASSERT_EQ(file.status, 200);
  EXPECT_EQ(file.header("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(file.header("content-disposition"),
            "attachment; filename=\"-img-src-x-onerror-alert-1--.html\"");
  EXPECT_EQ(file.body.find("verysecret"), std::string::npos);
  EXPECT_EQ(file.body.find(kHtml), std::string::npos);  // '<' is escaped in data
  for (const char* never : {"\nimport ", "\nexport ", "src=\"", "href=\"/", "url(/"})
    EXPECT_EQ(file.body.find(never), std::string::npos) << never;
  const auto between = [&](const std::string& from, const std::string& to) {
    const size_t at = file.body.find(from) + from.size();
    return file.body.substr(at, file.body.find(to, at) - at);
  };
  // The policy names the hashes of the style and of the script, and no other place.
  const std::string policy = between("Content-Security-Policy\" content=\"", "\"");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'sha256-")) << policy;
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  const auto data = parse_ordered_json(between("id=\"kept\">", "</script>"), "kept");
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(text_at(*data, "run"), "abc");
  ASSERT_EQ(data->at("parts").size(), 1u);
  EXPECT_EQ(data->at("parts")[0].at("points"), json("/api/runs/abc").at("points"));
  EXPECT_EQ(text_at(data->at("parts")[0], "name"), kHtml);
  EXPECT_NE(between("<script type=\"module\">", "</script>").find("class RunPage"),
            std::string::npos);
  EXPECT_EQ(ask("/api/runs/nope/export").status, 404);
  EXPECT_EQ(ask("/api/runs/abc/other").status, 404);
}

TEST_F(WebUiTest, WhatIsNotThereIs404) {
  for (const char* path : {"/api/runs/nope", "/api/pipelines/nope", "/api/models/nope",
                           "/api/nothing", "/api/data?file=nope.jsonl"})
    EXPECT_EQ(ask(path).status, 404) << path;
  EXPECT_EQ(ask("/api/runs/%zz").status, 400);
  EXPECT_EQ(text_at(json("/api/runs/nope", 404), "code"), "H3112");
}

TEST_F(WebUiTest, FilesOutsideTheFolderAreNotShown) {
  const OrderedJson data = json("/api/data?file=rows.jsonl");
  ASSERT_EQ(data.at("rows").size(), 2u);
  EXPECT_EQ(data.at("rows")[1].at("cells").at("label"), "bad");
  EXPECT_TRUE(json("/api/data?file=rows.jsonl&count=1").at("more").get<bool>());
  EXPECT_EQ(ask("/api/data?file=rows.jsonl&count=many").status, 400);
  std::filesystem::create_symlink(folder_.path + "/secret.jsonl",
                                  folder_.path + "/below/link.jsonl");
  for (const std::string& file :
       {std::string("../secret.jsonl"), std::string("out/../../secret.jsonl"),
        std::string("link.jsonl"), folder_.path + "/secret.jsonl",
        std::string("file://") + folder_.path + "/secret.jsonl", std::string("/etc/passwd")}) {
    const HttpResponse answer = ask("/api/data?file=" + url_encoded(file));
    EXPECT_EQ(answer.status, 404) << file;
    EXPECT_EQ(answer.body.find("outside"), std::string::npos) << file;
  }
  EXPECT_EQ(ask("/api/data?file=.").status, 400);  // a folder without images
  EXPECT_EQ(ask("/api/data?file=rows.jsonl&model=" + url_encoded("../../etc")).status, 404);
}

TEST_F(WebUiTest, PipelinesShowTheirGraphWithoutSecrets) {
  const std::string root = folder_.path + "/below/runs";
  ASSERT_TRUE(file_store().make_dirs(root + "/first/logs").ok());
  {
    auto state = PipelineState::open(root + "/pipeline.db");
    ASSERT_TRUE(state.ok());
    PipelineRunRow run;
    run.id = "first", run.pipeline = "news", run.status = "finished", run.begun_s = 5;
    ASSERT_TRUE((*state)->put(run).ok());
    for (const char* name : {"tidy", "train"}) {
      StepRow step;
      step.run = "first", step.name = name, step.status = "done";
      ASSERT_TRUE((*state)->put(step).ok());
    }
  }
  put("below/runs/first/run.json",
      R"({"steps": [{"name": "tidy", "needs": []}, {"name": "train", "needs": ["tidy"],
      "command": ["hone", "train", "--hub_token", "verysecretvalue"]}]})");
  put("below/runs/first/logs/train.log", "step 1\n" + kHtml + "\n");
  EXPECT_EQ(json("/api/pipelines").at("pipelines").size(), 1u);
  const OrderedJson run = json("/api/pipelines/first");
  ASSERT_EQ(run.at("steps").size(), 2u);
  EXPECT_EQ(text_at(run.at("steps")[0], "name"), "tidy");  // as in the graph
  for (const OrderedJson& step : run.at("steps"))
    if (text_at(step, "name") == "train") {
      EXPECT_EQ(step.at("needs"), OrderedJson::array({"tidy"}));
      EXPECT_EQ(step.at("command")[3], "***");
    }
  EXPECT_EQ(json("/api/pipelines/first/train").at("lines")[1], kHtml);
  // A step that writes to standard output alone.
  put("below/runs/first/logs/tidy.log", "");
  put("below/runs/first/logs/tidy.out", "two rows are empty\n");
  EXPECT_EQ(json("/api/pipelines/first/tidy").at("lines")[0], "two rows are empty");
  EXPECT_EQ(text_at(json("/api/pipelines/first/other", 404), "error"),
            "run 'first' has no step 'other' that was started");
  EXPECT_EQ(ask("/api/pipelines/first/..%2f..%2fsecret").status, 400);
}

TEST_F(WebUiTest, ModelsHaveVersionsDecisionsAndLineage) {
  Result<Registry> registry = Registry::open(folder_.path + "/registry.db");
  ASSERT_TRUE(registry.ok());
  ModelVersion v;
  v.model = "news", v.source = folder_.path, v.hash = "sha256:1", v.task = "clm", v.run_id = "abc";
  v.metrics = {{"eval_loss", 2.0}, {"worst", std::numeric_limits<double>::infinity()}};
  RegisteredRun run;
  run.id = "abc", run.params = {{"learning_rate", 0.1}};
  ASSERT_TRUE(registry->add_version(v, run).ok());
  Decision d;
  d.model = "news", d.version = 1, d.verdict = "promote", d.reason = kHtml,
  d.evidence = {{"metric", "eval_loss"}};
  ASSERT_TRUE(registry->record(d).ok());
  EXPECT_EQ(json("/api/models").at("models")[0].at("aliases").at("champion"), 1);
  const OrderedJson model = json("/api/models/news");
  EXPECT_EQ(model.at("versions")[0].at("lineage").at("params").at("learning_rate"), 0.1);
  EXPECT_EQ(model.at("versions")[0].at("metrics").at("worst"),
            "Infinity");  // browsers read no other
  EXPECT_EQ(text_at(model.at("decisions")[0], "reason"), kHtml);
  EXPECT_EQ(model.at("decisions")[0].at("evidence").at("metric"), "eval_loss");
}

TEST_F(WebUiTest, OtherSitesAreRefused) {
  for (const char* host : {"evil.example:80", "127.evil.example", "127.0.0.1.evil.example:80"})
    EXPECT_EQ(ask("/api/runs", {{"host", host}}).status, 403) << host;
  EXPECT_EQ(ask("/api/runs", {{"host", "localhost:1"}}).status, 200);
  const std::string body = "{}";
  const HttpHeaders type = {{"content-type", "application/json"}};
  EXPECT_EQ(
      ask("/api/endpoint/v1/completions", {{"content-type", "text/plain"}}, "POST", body).status,
      403);
  const HttpResponse plain =
      ask("/api/endpoint/v1/completions", {{"content-type", "text/plain"}}, "POST", body);
  EXPECT_NE(plain.body.find("application/json"), std::string::npos);
  HttpHeaders other = type;
  other["origin"] = "https://evil.example";
  EXPECT_EQ(ask("/api/endpoint/v1/completions", other, "POST", body).status, 403);
  other["origin"] = ui_->url(), other["sec-fetch-site"] = "cross-site";
  EXPECT_EQ(ask("/api/endpoint/v1/completions", other, "POST", body).status, 403);
  const HttpResponse away = ask("/api/endpoint/v1/completions", type, "POST", body);
  EXPECT_EQ(away.status, 502);
  EXPECT_EQ(away.body.find("key-of-the-endpoint"), std::string::npos);
  for (const char* path :
       {"/api/endpoint/..%2fx", "/api/endpoint/a%3fb", "/api/endpoint/a%0d%0ab", "/api/endpoint/"})
    EXPECT_EQ(ask(path).status, 400) << path;
  EXPECT_EQ(ask("/api/runs", type, "POST", body).status, 405);
}

TEST_F(WebUiTest, AnEndpointIsAskedWithTheKeyAndAnswersAsItGoes) {
  std::string seen;
  auto server = HttpServer::start({}, [&](WebRequest r, std::shared_ptr<WebReply> reply) {
    seen = r.method + " " + r.path + " " + std::string(r.header("authorization")) + " " + r.body;
    reply->begin({.body = {}, .type = "text/event-stream"});
    reply->write("data: 1\n\n");
    reply->write("data: 2\n\n");
    reply->end();
  });
  ASSERT_TRUE(server.ok());
  WebUiOptions o;
  o.folder = folder_.path, o.endpoint_url = (*server)->url() + "/", o.endpoint_key = "k";
  auto ui = WebUi::start(o);
  ASSERT_TRUE(ui.ok());
  ui_ = std::move(*ui);
  const HttpResponse answer = ask("/api/endpoint/v1/completions",
                                  {{"content-type", "application/json"}}, "POST", "{\"prompt\":1}");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("content-type"), "text/event-stream");
  EXPECT_EQ(answer.body, "data: 1\n\ndata: 2\n\n");
  EXPECT_EQ(seen, "POST /v1/completions Bearer k {\"prompt\":1}");
  ui_.reset();
}

TEST(WebUi, RefusesFlagsThatCannotBeUsed) {
  const auto code = [](const WebUiOptions& o) {
    auto ui = WebUi::start(o);
    return ui.ok() ? std::string("none") : std::string(ui.error().code());
  };
  WebUiOptions o;
  o.folder = "/nonexistent";
  EXPECT_EQ(code(o), err::kWebFlag.id);
  o.folder = ".";
  o.data_folders = {"/nonexistent"};
  EXPECT_EQ(code(o), err::kWebFlag.id);
  o.data_folders.clear();
  for (const char* url : {"", "ftp://x", "127.0.0.1:8080", "http://me:word@host", "http://x/?a=b",
                          "file:///etc/passwd"}) {
    o.endpoint_url = url;
    EXPECT_EQ(code(o), "H3501") << url;
  }
}

}  // namespace
}  // namespace hone

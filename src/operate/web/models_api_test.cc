// The pages Models and Playground: the deciding metric, two versions side by side, endpoints.
#include "operate/http/server.h"
#include "operate/registry/registry.h"
#include "operate/web/errors.h"
#include "operate/web/pages_test.h"

namespace hone {
namespace {

class ModelsPage : public PagesTest {
 protected:
  void SetUp() override {
    PagesTest::SetUp();
    registry_.emplace(Registry::open(options_.registry).value());
    for (int i = 1; i <= 2; ++i) {
      ModelVersion v;
      v.model = "news", v.source = at("model"), v.hash = fmt::format("sha256:{}", i);
      v.task = "summarization", v.run_id = fmt::format("r{}", i);
      v.metrics = {{"eval_rouge1", 20.0 + i}, {"eval_rougeLsum", 10.0 + i}, {"eval_loss", 2.0}};
      RegisteredRun run;
      run.id = v.run_id, run.params = {{"learning_rate", 0.1 * i}, {"seed", 42}};
      ASSERT_TRUE(registry_->add_version(v, run).ok());
    }
  }
  void deploy(const std::string& address) {
    Endpoint e;
    e.display_name = "news", e.model = "news", e.address = address;
    e.deployed = {DeployedModel{.model = "news", .version = 2}};
    ASSERT_TRUE(registry_->set_endpoint(e).ok());
  }
  std::optional<Registry> registry_;
};

TEST_F(ModelsPage, TheDecidingMetricIsThatOfTheTaskOrOfTheLastDecision) {
  const OrderedJson by_task = json("/api/models/news").at("deciding");
  EXPECT_TRUE(text_at(by_task, "metric").starts_with("rouge")) << dump_json(by_task);
  EXPECT_TRUE(by_task.at("higher_is_better").get<bool>());
  ASSERT_TRUE(registry_->set_alias("news", kChampion, 1).ok());
  Decision d;
  d.model = "news", d.version = 2, d.against = 1, d.verdict = "hold",
  d.reason = "these rows cannot tell",
  d.evidence = {{"metric", "loss"}, {"policy", {{"higher_is_better", false}}}};
  ASSERT_TRUE(registry_->record(d).ok());
  const OrderedJson model = json("/api/models/news");
  EXPECT_EQ(text_at(model.at("deciding"), "metric"), "loss");
  EXPECT_FALSE(model.at("deciding").at("higher_is_better").get<bool>());
  const OrderedJson listed = json("/api/models").at("models").at(0);
  EXPECT_EQ(listed.at("newest").at("version"), 2);
  EXPECT_EQ(text_at(listed, "task"), "summarization");
  EXPECT_EQ(listed.at("champion").at("version"), 1);
}

TEST_F(ModelsPage, VersionsHaveTheMetricOfTheTablesOfATerminal) {
  ModelVersion v;
  v.model = "texts", v.source = at("model"), v.hash = "sha256:3", v.task = "clm";
  v.metrics = {{"eval_loss", 2.0}, {"eval_loss_per_token", 2.5}};
  ASSERT_TRUE(registry_->add_version(v, {}).ok());
  const OrderedJson metric = {{"name", "eval_loss_per_token"}, {"value", 2.5}};
  const OrderedJson model = json("/api/models/texts");
  EXPECT_EQ(model.at("versions").at(0).at("metric"), metric);
  EXPECT_EQ(text_at(model.at("deciding"), "metric"), "loss_per_token");
  EXPECT_FALSE(model.at("deciding").at("higher_is_better").get<bool>());
  const OrderedJson all = json("/api/models");
  for (const OrderedJson& listed : all.at("models"))
    if (text_at(listed, "name") == "texts") {
      EXPECT_EQ(listed.at("newest").at("metric"), metric);
    }
  // A value that only a decision computed is one of the version.
  Decision d;
  d.model = "news", d.version = 2, d.verdict = "promote",
  d.evidence = {{"metric", "chrf"}, {"value", 31.5}};
  ASSERT_TRUE(registry_->record(d).ok());
  EXPECT_EQ(json("/api/models/news").at("versions").at(1).at("metric"),
            (OrderedJson{{"name", "eval_chrf"}, {"value", 31.5}}));
}

TEST_F(ModelsPage, TwoVersionsAreCompared) {
  const OrderedJson d = json("/api/models/news/compare?a=1&b=2");
  EXPECT_EQ(d.at("metrics").at("eval_rouge1"), OrderedJson::array({21.0, 22.0, 1.0}));
  EXPECT_EQ(d.at("settings").size(), 1u);
  EXPECT_EQ(d.at("settings").at("learning_rate").at(0), 0.1);
  EXPECT_FALSE(d.at("same_files").get<bool>());
  EXPECT_EQ(text_at(json("/api/models/news/compare?a=1&b=two", 400), "code"), err::kWebView.id);
  EXPECT_EQ(text_at(json("/api/models/news/compare?a=1&b=9", 404), "code"), "H3135");
  EXPECT_EQ(json("/api/models/news/other", 404).at("code"), "H3135");
}

TEST_F(ModelsPage, VersionsOfDifferentRowsHaveNoBestAndNoDifference) {
  EXPECT_EQ(text_at(json("/api/models/news"), "no_best"), "");
  const OrderedJson same = json("/api/models/news/compare?a=1&b=2");
  EXPECT_EQ(text_at(same, "rows_note"), "");
  EXPECT_EQ(same.at("same_rows"), OrderedJson({"eval_rouge1", "eval_rougeLsum", "eval_loss"}));
  for (int i = 1; i <= 2; ++i) {
    ModelVersion v;
    v.model = "mail", v.source = at("model"), v.hash = fmt::format("sha256:{}", i + 4);
    v.task = "classification", v.run_id = fmt::format("m{}", i), v.data_hash = "sha256:d";
    v.metrics = {{"eval_accuracy", 0.5 * i}, {"eval_samples", 10 * i}, {"train_loss", 1.0 / i}};
    RegisteredRun run;
    run.id = v.run_id, run.params = {{"validation_file", {fmt::format("{}.jsonl", i)}}};
    ASSERT_TRUE(registry_->add_version(v, run).ok());
  }
  EXPECT_EQ(text_at(json("/api/models/mail"), "no_best"),
            "the runs were evaluated on different rows");
  const OrderedJson d = json("/api/models/mail/compare?a=1&b=2");
  EXPECT_EQ(text_at(d, "rows_note"),
            "the metrics are of different rows (10 rows of 1.jsonl and 20 rows of 2.jsonl): they "
            "say nothing of which is better");
  EXPECT_EQ(d.at("same_rows"), OrderedJson::array({"train_loss"}));
}

TEST_F(ModelsPage, CopiesOfAPipelineHaveTheNamesOfWhatTheyAreCopiesOf) {
  for (int i = 1; i <= 2; ++i) {
    const std::string run = fmt::format("runs/{}", i);
    put(run + "/download/hone_origin.json", R"({"model": "org/t5", "dataset": "ferries"})");
    put(run + "/download/data/train.jsonl", "{}\n");
    ModelVersion v;
    v.model = "copies", v.source = at("model"), v.hash = fmt::format("sha256:{}", i + 6);
    v.task = "summarization", v.run_id = fmt::format("c{}", i);
    v.parent = at(run + "/download/model");
    RegisteredRun made;
    made.id = v.run_id;
    made.params = {{"model_name_or_path", run + "/download/model"},
                   {"train_file", {run + "/download/data/train.jsonl"}},
                   {"output_dir", run + "/train.part"},
                   {"learning_rate", 0.1 * i}};
    made.record = {{"folder", folder_.path},
                   {"model", v.parent},
                   {"model_name", "org/t5"},
                   {"data", {{{"file", at(run + "/download/data")}, {"name", "ferries"}}}}};
    ASSERT_TRUE(registry_->add_version(v, made).ok());
  }
  const OrderedJson d = json("/api/models/copies/compare?a=1&b=2");
  EXPECT_EQ(d.at("settings"), (OrderedJson{{"learning_rate", OrderedJson::array({0.1, 0.2})}}));
  EXPECT_EQ(text_at(d.at("b"), "parent_name"), "org/t5");
  const OrderedJson version = json("/api/models/copies").at("versions").at(1);
  EXPECT_EQ(text_at(version, "parent_name"), "org/t5");
  EXPECT_EQ(text_at(version.at("lineage"), "data"), "ferries");
}

TEST_F(ModelsPage, EndpointsOfTheRegistryAreAskedWithTheKey) {
  std::string seen;
  auto server = HttpServer::start({}, [&](WebRequest r, std::shared_ptr<WebReply> reply) {
    seen = r.method + " " + r.path + " " + std::string(r.header("authorization")) + " " + r.body;
    reply->send({.status = 200, .body = "{}"});
  });
  ASSERT_TRUE(server.ok());
  deploy((*server)->url());
  const OrderedJson list = json("/api/endpoints");
  EXPECT_EQ(text_at(list, "endpoint_url"), "http://127.0.0.1:9");
  EXPECT_TRUE(list.at("needs_key").get<bool>());
  ASSERT_EQ(list.at("endpoints").size(), 1u);
  EXPECT_EQ(text_at(list.at("endpoints")[0].at("deployed")[0], "task"), "summarization");
  EXPECT_EQ(ask("/api/endpoints").body.find("key-of-the-endpoint"), std::string::npos);
  const HttpHeaders type = {{"content-type", "application/json"}};
  EXPECT_EQ(ask("/api/endpoints/news/v1/models/news:predict", type, "POST", "{\"x\":1}").status,
            200);
  EXPECT_EQ(seen, "POST /v1/models/news:predict Bearer key-of-the-endpoint {\"x\":1}");
  EXPECT_EQ(ask("/api/endpoints/news/readyz").status, 200);
  EXPECT_EQ(ask("/api/endpoints/news/..%2fx").status, 400);
  EXPECT_EQ(ask("/api/endpoints/news/a%0d%0ab").status, 400);
  EXPECT_EQ(ask("/api/endpoints/news/readyz", type, "DELETE").status, 405);
  EXPECT_EQ(ask("/api/endpoints/nope/readyz").status, 404);
  HttpHeaders other = type;
  other["origin"] = "https://evil.example";
  EXPECT_EQ(ask("/api/endpoints/news/readyz", other, "POST", "{}").status, 403);
}

TEST_F(ModelsPage, AnEndpointWithoutAServerIsNotAsked) {
  deploy("");
  const OrderedJson refused = json("/api/endpoints/news/v1/models", 503);
  EXPECT_EQ(text_at(refused, "code"), err::kWebView.id);
  EXPECT_NE(text_at(refused, "todo").find("hone deploy news"), std::string::npos);
}

}  // namespace
}  // namespace hone

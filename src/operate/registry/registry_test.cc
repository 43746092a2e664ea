// Tests of what the registry stores, refuses and rolls back.
#include "operate/registry/registry.h"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <thread>

#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "operate/registry/compare_versions.h"
#include "operate/registry/evaluation.h"
#include "operate/registry/model_hash.h"
#include "operate/registry/register_model.h"
#include "operate/registry/training_rows.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RegistryTest : public testing::Test {
 protected:
  Registry open() { return std::move(Registry::open(path()).value()); }
  std::string path() const { return folder_.path + "/r/registry.db"; }

  // A version whose files have this hash.
  static ModelVersion version(const std::string& hash) {
    ModelVersion v;
    v.model = "news";
    v.source = "/models/" + hash;
    v.hash = hash;
    v.metrics = {{"eval_rouge1", 0.1 + 0.2}, {"eval_samples", 3}};
    v.labels = {{"team", "a"}};
    return v;
  }
  int64_t add(Registry& r, const std::string& hash) {
    return r.add_version(version(hash)).value().number;
  }

  TemporaryFolder folder_;
};

TEST_F(RegistryTest, KeepsVersionsAsGiven) {
  Registry r = open();
  RegisteredRun run{.id = "run1", .name = "first", .task = "summarization"};
  run.params = {{"learning_rate", 5e-5}};
  ModelVersion given = version("a");
  given.run_id = "run1";
  given.parent = "t5-small";
  ASSERT_EQ(r.add_version(given, run, "staging").value().number, 1);
  ASSERT_EQ(add(r, "b"), 2);
  ASSERT_EQ(add(r, "a"), 1) << "the same files are the same version";
  const ModelVersion v = open().version("news", 1).value();
  EXPECT_EQ(dump_json(v.metrics), R"({"eval_rouge1": 0.30000000000000004, "eval_samples": 3})");
  EXPECT_EQ(v.source, "/models/a");
  EXPECT_EQ(v.parent, "t5-small");
  EXPECT_EQ(v.labels.at("team"), "a");
  EXPECT_EQ(v.created.size(), 24u);
  EXPECT_EQ(v.uri(), "models:/news/1");
  EXPECT_THAT(v.aliases, ElementsAre("staging"));
  EXPECT_EQ(dump_json(r.run("run1").value().params), R"({"learning_rate": 5e-05})");
  EXPECT_EQ(r.models().value()[0].versions, 2);
  EXPECT_EQ(r.runs().value().size(), 1u);
  ASSERT_TRUE(r.describe("news", "short texts", {{"team", "b"}}).ok());
  EXPECT_EQ(r.model("news").value().labels.at("team"), "b");
}

TEST_F(RegistryTest, ReplacesWhatIsNamed) {
  Registry r = open();
  ModelVersion given = version("a");
  given.evaluation = "/first";
  ASSERT_TRUE(r.add_version(given).ok());
  given.metrics = {{"eval_rouge1", 9.0}};
  given.evaluation = "/second";
  EXPECT_EQ(r.add_version(given).value().evaluation, "/first") << "only filled in";
  const ModelVersion seen = r.add_version(given, {}, "", {"evaluation"}).value();
  EXPECT_EQ(seen.number, 1);
  EXPECT_EQ(seen.evaluation, "/second");
  EXPECT_EQ(seen.metrics["eval_rouge1"], 0.1 + 0.2);
  EXPECT_EQ(r.add_version(given, {}, "", {"metrics"}).value().metrics["eval_rouge1"], 9.0);
}

TEST_F(RegistryTest, ResolvesReferences) {
  Registry r = open();
  add(r, "a");
  add(r, "b");
  EXPECT_EQ(resolve_model(r, "news").value().number, 2) << "the newest, as nothing is deployed";
  ASSERT_TRUE(r.set_alias("news", kChampion, 1).ok());
  EXPECT_EQ(resolve_model(r, "news").value().number, 1);
  EXPECT_EQ(resolve_model(r, "news@champion").value().number, 1);
  EXPECT_EQ(resolve_model(r, "news:2").value().number, 2);
  EXPECT_THAT(resolve_model(r, "newz").error().text(),
              AllOf(HasSubstr("H3135"), HasSubstr("'news' is there")));
  EXPECT_THAT(resolve_model(r, "news@champ").error().text(), HasSubstr("there is champion"));
  EXPECT_THAT(resolve_model(r, "news:3").error().text(), HasSubstr("the newest one is news:2"));
  EXPECT_THAT(resolve_model(r, "news:x").error().text(), HasSubstr("H3135"));
  ModelVersion other = version("c");
  other.model = "mood";
  ASSERT_TRUE(r.add_version(other).ok());
  EXPECT_THAT(resolve_model(r, "weather").error().text(), HasSubstr("there are "));
}

TEST_F(RegistryTest, RollsBackFurtherEachTime) {
  Registry r = open();
  for (const char* hash : {"a", "b", "c"})
    ASSERT_TRUE(r.set_alias("news", kChampion, add(r, hash)).ok());
  ASSERT_TRUE(r.set_alias("news", kChampion, 3).ok()) << "it names 3 already: no change";
  EXPECT_EQ(r.roll_back("news").value().number, 2);
  EXPECT_EQ(r.roll_back("news").value().number, 1);
  EXPECT_THAT(r.roll_back("news").error().text(),
              AllOf(HasSubstr("H3137"), HasSubstr("no version before news:1")));
  ASSERT_TRUE(r.set_alias("news", kChampion, 3).ok());
  EXPECT_EQ(r.roll_back("news").value().number, 1);
  EXPECT_EQ(r.alias_changes("news").value().size(), 7u);
  EXPECT_THAT(r.set_alias("news", kChampion, 9).error().text(), HasSubstr("H3135"));
  EXPECT_THAT(r.roll_back("news", "other").error().text(), HasSubstr("H3135"));
}

TEST_F(RegistryTest, RecordsDecisionsAgainstWhatIsDeployed) {
  Registry r = open();
  add(r, "a");
  add(r, "b");
  Decision d{.model = "news", .version = 1, .verdict = "promote", .reason = "the first"};
  EXPECT_EQ(r.record(d).value().id, 1);
  EXPECT_EQ(resolve_model(r, "news@champion").value().number, 1);
  d.version = 2;
  EXPECT_THAT(r.record(d).error().text(), HasSubstr("H3138"));
  d.against = 1;
  d.verdict = "refuse";
  EXPECT_EQ(r.record(d).value().id, 2);
  EXPECT_EQ(resolve_model(r, "news@champion").value().number, 1);
  EXPECT_EQ(r.decisions("news").value()[0].verdict, "refuse");
}

TEST_F(RegistryTest, KeepsEndpointsAndTheirTraffic) {
  Registry r = open();
  add(r, "a");
  add(r, "b");
  Endpoint e{.display_name = "news endpoint", .model = "news", .address = "http://127.0.0.1:8080"};
  e.deployed = {{.model = "news", .version = 1}};
  const Endpoint first = r.set_endpoint(e).value();
  EXPECT_EQ(first.id.find_first_not_of("0123456789"), std::string::npos);
  e.deployed = first.deployed;
  e.deployed[0].traffic = 90;
  e.deployed.push_back({.model = "news", .version = 2, .traffic = 10});
  const Endpoint second = r.set_endpoint(e).value();
  EXPECT_EQ(second.id, first.id);
  const Endpoint seen = r.endpoint("news endpoint").value();
  ASSERT_EQ(seen.deployed.size(), 2u);
  EXPECT_EQ(seen.deployed[0].id, first.deployed[0].id);
  EXPECT_EQ(seen.deployed[1].traffic, 10);
  EXPECT_EQ(r.endpoint(first.id).value().display_name, "news endpoint");
  e.deployed[1].traffic = 20;
  EXPECT_THAT(r.set_endpoint(e).error().text(), AllOf(HasSubstr("H3139"), HasSubstr("110 %")));
  e.deployed[1] = {.model = "news", .version = 7, .traffic = 10};
  EXPECT_THAT(r.set_endpoint(e).error().text(), HasSubstr("H3135"));
  EXPECT_EQ(r.endpoints().value()[0].deployed.size(), 2u) << "what was refused changed nothing";
  e.deployed = {{.id = "9", .model = "news", .version = 1, .traffic = 90},
                {.id = "1", .model = "news", .version = 2, .traffic = 10}};
  ASSERT_TRUE(r.set_endpoint(e).ok());
  EXPECT_EQ(r.endpoint(first.id).value().deployed[0].id, "9") << "in the order given";
  ASSERT_TRUE(r.remove_endpoint(first.id).ok());
  EXPECT_THAT(r.endpoint(first.id).error().text(), HasSubstr("H3135"));
}

TEST_F(RegistryTest, RefusesNamesAndAddresses) {
  Registry r = open();
  for (const char* name : {"", " a", "a:1", "a@b", "a\n", "../x", "a ", "a/b"}) {
    ModelVersion v = version("a");
    v.model = name;
    EXPECT_THAT(r.add_version(v).error().text(), HasSubstr("H3136")) << name;
  }
  EXPECT_TRUE(check_registry_name("a model", "T5 small news_v1.2-b").ok());
  const std::string other = Registry::open("oracle://me:secret@host/db").error().text();
  EXPECT_THAT(other, AllOf(HasSubstr("H3131"), Not(HasSubstr("secret"))));
  EXPECT_THAT(Registry::open("sqlite://a.db").error().text(), HasSubstr("H3131"));
}

TEST_F(RegistryTest, KeepsWhatAnEndpointServesWithAndItsServer) {
  Registry r = open();
  Endpoint e{.display_name = "e", .model = "news"};
  e.serving = {{"prefix", "summarize: "}, {"port", 8080}, {"api_key_file", "/keys"}};
  e.server = {"boot pid:[1]", "worker", 4711, "99", "word"};
  const std::string id = r.set_endpoint(e).value().id;
  Endpoint seen = r.endpoint("e").value();
  EXPECT_EQ(seen.serving, e.serving);
  EXPECT_EQ(seen.server, e.server);
  seen.server = {};
  seen.serving["tokenizer_name"] = "https://me:word@host/t";
  ASSERT_TRUE(r.set_endpoint(seen).ok());
  seen = r.endpoint(id).value();
  EXPECT_EQ(seen.server.pid, 0);
  EXPECT_EQ(seen.serving["tokenizer_name"], "https://host/t");
}

TEST_F(RegistryTest, KeepsNoSecrets) {
  Registry r = open();
  RegisteredRun run{.id = "run1"};
  run.params = {{"hub_token", "abcdef"},
                {"pad_token", "<pad>"},
                {"max_tokens", 5},
                {"train_file", "https://me:word@host/a.csv?X-Amz-Signature=abcdef&part=1"},
                {"list", OrderedJson::array({"hf_abcdefghijklmnopqrstuvwxyz"})},
                {"aws", {{"secret_access_key", "abcdef"}}}};
  run.record = {{"command", "hone train --hub_token abcdef --token=abcdef --seed 3"}};
  ModelVersion v = version("a");
  v.source = "s3://key:word@bucket/model";
  ASSERT_TRUE(r.add_version(v, run).ok());
  const RegisteredRun seen = r.run("run1").value();
  EXPECT_EQ(dump_json(seen.params),
            R"({"hub_token": "***", "pad_token": "<pad>", "max_tokens": 5, )"
            R"("train_file": "https://host/a.csv?X-Amz-Signature=***&part=1", "list": ["***"], )"
            R"("aws": {"secret_access_key": "***"}})");
  EXPECT_EQ(seen.record["command"], "hone train --hub_token *** --token=*** --seed 3");
  EXPECT_EQ(r.version("news", 1).value().source, "s3://bucket/model");
}

TEST_F(RegistryTest, WaitsForALockAndThenSaysSo) {
  Registry r = open();
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  ::setenv("HONE_REGISTRY_TIMEOUT", "1", 1);
  Registry waits = open();  // its timeout is read here
  EXPECT_TRUE(waits.models().ok()) << "a reader does not wait";
  EXPECT_THAT(waits.add_version(version("a")).error().text(),
              AllOf(HasSubstr("H3132"), HasSubstr("locked for 1 s"), HasSubstr(path())));
  ASSERT_EQ(sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_TRUE(waits.add_version(version("a")).ok());
  sqlite3_close(other);
  ::unsetenv("HONE_REGISTRY_TIMEOUT");
}

TEST_F(RegistryTest, RefusesWhatIsNotItsDatabase) {
  const std::string text = folder_.path + "/text";
  ASSERT_TRUE(file_store().write(text, std::string(5000, 'x')).ok());
  EXPECT_THAT(Registry::open(text).error().text(),
              AllOf(HasSubstr("H3133"), HasSubstr("not a database")));
  EXPECT_THAT(Registry::open(folder_.path).error().text(), HasSubstr("H3133"));
  EXPECT_THAT(Registry::open(text + "/below/r.db").error().text(), HasSubstr("H3133"));
  ASSERT_TRUE(open().database().run("UPDATE hone_registry SET version = 99").ok());
  EXPECT_THAT(Registry::open(path()).error().text(),
              AllOf(HasSubstr("H3134"), HasSubstr("version 99")));
}

TEST_F(RegistryTest, ManyThreadsAndConnectionsNumberVersionsOnce) {
  constexpr int kThreads = 8, kEach = 10;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Registry own = open();
      for (int i = 0; i < kEach; ++i) {
        const auto added = own.add_version(version(fmt::format("{}-{}", t, i)));
        EXPECT_TRUE(added.ok()) << added.error().text();
      }
    });
  for (std::thread& t : threads) t.join();
  const auto all = open().versions("news").value();
  ASSERT_EQ(all.size(), static_cast<size_t>(kThreads * kEach));
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].number, static_cast<int64_t>(i + 1));
}

TEST_F(RegistryTest, HashesWhatAServerLoads) {
  Store& files = file_store();
  const std::string model = folder_.path + "/model";
  ASSERT_TRUE(files.make_dirs(model).ok());
  EXPECT_THAT(hash_model(model).error().text(), HasSubstr("H3140"));
  ASSERT_TRUE(files.write(model + "/config.json", "{}").ok());
  ASSERT_TRUE(files.write(model + "/model.safetensors", "weights").ok());
  const std::string hash = hash_model(model + "/").value();
  EXPECT_EQ(hash.size(), 71u);
  ASSERT_TRUE(files.write(model + "/all_results.json", "{}").ok());
  EXPECT_EQ(hash_model(model).value(), hash) << "results are not part of the model";
  ASSERT_TRUE(files.write(model + "/tokenizer.json", "{}").ok());
  EXPECT_NE(hash_model(model).value(), hash);
  EXPECT_EQ(hash_files({}).value(), "");
  EXPECT_NE(hash_files({model + "/config.json"}).value(),
            hash_files({model + "/model.safetensors"}).value());
  // Token shards: the data that they were made from.
  const auto hash_of_shards = [&](const std::string& block, const std::string& sha256) {
    EXPECT_TRUE(files
                    .write(model + "/hone_shards.json",
                           R"({"settings": {"block_size": )" + block +
                               R"(}, "sources": [{"split": "train", "file": "a", "sha256": ")" +
                               sha256 + R"("}]})")
                    .ok());
    return hash_data(model).value();
  };
  EXPECT_EQ(hash_of_shards("64", "00"), hash_of_shards("32", "00"));
  EXPECT_NE(hash_of_shards("64", "00"), hash_of_shards("64", "01"));
}

TEST_F(RegistryTest, RegistersAFolderWithItsMetrics) {
  Registry r = open();
  Store& files = file_store();
  const std::string model = folder_.path + "/model";
  ASSERT_TRUE(files.make_dirs(model).ok());
  ASSERT_TRUE(files.write(model + "/model.safetensors", "weights").ok());
  ASSERT_TRUE(files.write(model + "/bad.json", "[1]").ok());
  ModelToRegister given;
  given.name = "news";
  given.folder = model + "/";
  given.metrics = {model + "/bad.json"};
  EXPECT_THAT(register_model(r, given).error().text(),
              AllOf(HasSubstr("H3141"), HasSubstr("bad.json")));
  given.metrics.clear();
  EXPECT_EQ(dump_json(register_model(r, given).value().metrics), "{}");
  ASSERT_TRUE(files.write(model + "/all_results.json", R"({"eval_loss": 0.1, "epoch": 3.0})").ok());
  ASSERT_TRUE(files.write(model + "/eval_examples.jsonl", "").ok());
  given.description = "short texts";
  const ModelVersion v = register_model(r, given).value();
  EXPECT_EQ(v.number, 1) << "the same files, of which more is known now";
  EXPECT_EQ(dump_json(v.metrics), R"({"eval_loss": 0.1, "epoch": 3.0})");
  EXPECT_EQ(v.source, model);
  EXPECT_EQ(v.evaluation, model);
  EXPECT_EQ(r.model("news").value().description, "short texts");
  // The metrics of its evaluation are those that decide.
  given.evaluation = folder_.path + "/evaluation";
  ASSERT_TRUE(files.make_dirs(given.evaluation).ok());
  ASSERT_TRUE(files.write(given.evaluation + "/all_results.json", R"({"eval_loss": 0.2})").ok());
  ASSERT_TRUE(files.write(given.evaluation + "/eval_examples.jsonl", "").ok());
  EXPECT_EQ(dump_json(register_model(r, given).value().metrics),
            R"({"eval_loss": 0.2, "epoch": 3.0})");
  // A model trained from this one has it as its parent.
  const std::string next = folder_.path + "/next";
  ASSERT_TRUE(files.make_dirs(next).ok());
  ASSERT_TRUE(files.write(next + "/model.safetensors", "other weights").ok());
  const OrderedJson begin = {{"event", "begin"},
                             {"logging.googleapis.com/labels", {{"run", "run2"}}},
                             {"run", {{"id", "run2"}, {"task", "clm"}, {"model", model}}}};
  ASSERT_TRUE(files.write(next + "/hone_log.jsonl", dump_json(begin) + "\n").ok());
  given = {.name = "news", .folder = next};
  const ModelVersion child = register_model(r, given).value();
  EXPECT_EQ(child.parent, "news:1");
  EXPECT_EQ(child.task, "clm");
  EXPECT_EQ(r.run("run2").value().model_hash, v.hash);
}

TEST_F(RegistryTest, KnowsWhatRowsMetricsAreOf) {
  const auto of = [](int samples, const char* file) {
    return OrderedJson{{"samples", samples}, {"files", OrderedJson::array({file})}};
  };
  EXPECT_EQ(rows_alike(of(12, "a"), of(12, "a")), RowsAlike::kSame);
  EXPECT_EQ(rows_alike(of(12, "a"), of(87, "a")), RowsAlike::kDifferent);
  EXPECT_EQ(rows_alike(of(12, "a"), of(12, "b")), RowsAlike::kUnknown) << "a copy, perhaps";
  EXPECT_EQ(rows_alike(of(12, "a"), {{"data", "x"}, {"examples", 12}}), RowsAlike::kUnknown);
  EXPECT_EQ(rows_alike(12, 13), RowsAlike::kDifferent);
  OrderedJson file = of(12, "a"), saved = {{"data", "x"}, {"samples", 12}, {"ids", "1"}},
              other = saved;
  EXPECT_EQ(rows_alike(file, saved), RowsAlike::kUnknown);
  file["data"] = "x";
  EXPECT_EQ(rows_alike(file, saved), RowsAlike::kSame) << "the files of an evaluation, by hash";
  other["ids"] = "2";
  EXPECT_EQ(rows_alike(saved, other), RowsAlike::kDifferent);
  other = {{"data", "y"}, {"samples", 13}, {"ids", "1"}};
  EXPECT_EQ(rows_alike(saved, other), RowsAlike::kSame);
  // Token shards and the files that they were made from have different hashes.
  Registry r = open();
  for (const char* id : {"shards", "files"}) {
    RegisteredRun run{.id = id, .params = OrderedJson::object()};
    run.record["data"] = OrderedJson::array({{{"name", id}, {"hash", id}}});
    ASSERT_TRUE(r.put_run(run).ok());
  }
  ModelVersion a = version("a"), b = version("b");
  a.run_id = "shards";
  b.run_id = "files";
  const VersionDifference d = compare_versions(r, a, b).value();
  EXPECT_EQ(d.rows, "3 rows of shards and 3 rows of files");
  EXPECT_TRUE(d.rows_unknown);
  EXPECT_EQ(d.json()["differing_rows"], "");
  b.metrics = {{"eval_samples", 13}};
  EXPECT_FALSE(compare_versions(r, a, b).value().rows_unknown);
}

TEST_F(RegistryTest, SavedRowsDecideWhetherVersionsAreCompared) {
  Registry r = open();
  const auto evaluated = [&](const char* name, const std::string& rows) {
    ModelVersion v = version(name);
    v.evaluation = folder_.path + "/" + name;
    EXPECT_TRUE(file_store().make_dirs(v.evaluation).ok());
    EXPECT_TRUE(file_store().write(v.evaluation + "/eval_examples.jsonl", rows).ok());
    return v;
  };
  const ModelVersion a = evaluated("a", "{\"id\": \"x-0\"}\n{\"id\": \"x-1\"}\n"),
                     turned =
                         evaluated("b", "{\"scores\": {}, \"id\": \"x-1\"}\n\n{\"id\":\"x-0\"}"),
                     others = evaluated("c", "{\"id\": \"y-0\"}\n{\"id\": \"y-1\"}\n");
  const auto alike = [&](const ModelVersion& x, const ModelVersion& y) {
    const VersionDifference d = compare_versions(r, x, y).value();
    const RowsAlike told = d.rows.empty()   ? RowsAlike::kSame
                           : d.rows_unknown ? RowsAlike::kUnknown
                                            : RowsAlike::kDifferent;
    EXPECT_EQ(rows_alike(evaluated_by(x, {}), evaluated_by(y, {})), told) << "as tables say it";
    return told;
  };
  EXPECT_EQ(alike(a, turned), RowsAlike::kSame);
  EXPECT_EQ(alike(a, others), RowsAlike::kDifferent);
  EXPECT_EQ(compare_versions(r, a, others).value().rows, "2 rows and 2 rows");
  EXPECT_EQ(alike(a, version("d")), RowsAlike::kUnknown) << "its run says nothing of rows";
  EXPECT_FALSE(hash_of_row_ids(folder_.path + "/nothing").ok());
  ASSERT_TRUE(file_store().write(a.evaluation + "/eval_examples.jsonl", "{\"ids\": 1}\n").ok());
  EXPECT_THAT(hash_of_row_ids(a.evaluation).error().text(), HasSubstr("H3142"));
}

// A champion may have an advantage on rows that neither version was evaluated on before.
TEST_F(RegistryTest, KnowsWhetherAVersionMayKnowMoreRows) {
  Registry r = open();
  const auto trained = [&](const char* id, OrderedJson params, const std::string& place,
                           const std::string& hash) {
    RegisteredRun run{.id = id, .params = std::move(params)};
    run.record["data"] = OrderedJson::array({{{"file", place}, {"hash", hash}}});
    EXPECT_TRUE(r.put_run(run).ok());
    ModelVersion v = version(id);
    v.run_id = id;
    return v;
  };
  const auto more = [&](const ModelVersion& x, const ModelVersion& y) {
    return may_know_more(r, x, y).value();
  };
  const OrderedJson own = {{"validation_file", {"v.csv"}}, {"max_train_samples", -1}},
                    shared = {{"validation_split_percentage", 5}, {"seed", 1}},
                    turned = {{"validation_split_percentage", 5}, {"seed", 2}};
  ModelVersion a = trained("a", own, "t.csv", "1"), b = trained("b", own, "copy.csv", "1");
  EXPECT_FALSE(more(a, b)) << "the same training rows, whatever the rows of validation";
  EXPECT_TRUE(more(trained("c", own, "t.csv", "2"), b));
  EXPECT_TRUE(more(version("none"), b)) << "its run is unknown";
  const ModelVersion part = trained("d", shared, "t.csv", "1");
  EXPECT_FALSE(more(part, b)) << "it was trained on a part of these rows";
  EXPECT_TRUE(more(b, part));
  EXPECT_TRUE(more(trained("e", turned, "t.csv", "1"), part)) << "another part";
  EXPECT_FALSE(more(trained("f", shared, "t.csv", "1"), part));
  const OrderedJson few = {{"validation_file", {"v.csv"}}, {"max_train_samples", 3}};
  EXPECT_TRUE(more(a, trained("g", few, "t.csv", "1")));
  a.model = "other";
  a.parent = fmt::format("news:{}", add(r, "base"));
  EXPECT_TRUE(more(a, b)) << "it began from a version that may have seen them";
  b.parent = a.parent;
  EXPECT_FALSE(more(a, b));
  // Shards have another hash as soon as a file of validation changes.
  const auto shards = [&](const char* id, const std::string& validation) {
    const std::string place = folder_.path + "/" + id;
    OrderedJson sources = OrderedJson::array({{{"split", "train"}, {"sha256", "t"}}});
    if (!validation.empty()) sources.push_back({{"split", "validation"}, {"sha256", validation}});
    EXPECT_TRUE(file_store().make_dirs(place).ok());
    EXPECT_TRUE(
        file_store()
            .write(place + "/hone_shards.json", dump_json(OrderedJson{{"sources", sources}}))
            .ok());
    return trained(id, own, place, id);
  };
  EXPECT_FALSE(more(shards("s1", "v"), shards("s2", "w")));
  EXPECT_TRUE(more(shards("s3", ""), shards("s4", ""))) << "perhaps other parts of the file";
}

}  // namespace
}  // namespace hone

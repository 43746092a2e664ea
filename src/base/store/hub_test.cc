// The hub client against tools/fake_hub.py, with its faults.
#include "base/store/hub.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "base/core/json.h"
#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/signals.h"
#include "base/store/fake_hub.h"
#include "base/store/hash.h"
#include "base/store/http_store.h"
#include "base/store/store.h"
#include "base/store/temporary_folder.h"

namespace hone {
namespace {
namespace fs = std::filesystem;

const std::string kWeights = [] {
  std::string s;
  for (int i = 0; i < 50000; ++i) s += static_cast<char>(i * 31 + i / 256);
  return s;
}();

class HubTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fresh_hub_environment(folder_);
    put("org/tiny/config.json", "{\"model_type\": \"gpt2\"}");
    put("org/tiny/tokenizer.json", std::string(3000, 't'));
    put("org/tiny/model.safetensors", kWeights);
    put("org/tiny/pytorch_model.bin", "pickle");
    put("org/tiny/onnx/model.onnx", "onnx");
    Result<CommandOutput> python = run_command({"python3", "--version"});
    if (!python.ok()) GTEST_SKIP() << "python3 is missing: the hub of the tests cannot run";
    ASSERT_TRUE(hub_.start(folder_ + "/hub"));
  }
  void TearDown() override { set_log_sink({}); }
  void put(const std::string& path, const std::string& text) {
    std::string at = folder_ + "/hub/" + path;
    ASSERT_TRUE(file_store().make_dirs(fs::path(at).parent_path().string()).ok());
    ASSERT_TRUE(file_store().write(at, text).ok());
  }
  ResolveOptions options() {
    ResolveOptions o;
    o.endpoint = hub_.endpoint();
    o.cache_dir = folder_ + "/cache";
    o.progress = false;
    o.http.first_wait_seconds = 0.01;
    o.http.clock = &clock_;
    return o;
  }
  void fault(const std::string& query) {
    ASSERT_TRUE(HttpClient().get(hub_.endpoint() + "/_fault?" + query).ok());
  }
  Json log() {
    return *parse_json(HttpClient().get(hub_.endpoint() + "/_log?clear=1")->body, "log");
  }
  std::string code(const Result<std::string>& r) { return r.ok() ? "" : r.error().code(); }

  TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path;
  FakeHub hub_;
  FakeClock clock_;
};

TEST_F(HubTest, FetchesWhatIsWantedIntoTheStandardCache) {
  Result<std::string> r = resolve_model("org/tiny", options());
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(*file_store().read(*r + "/model.safetensors"), kWeights);
  EXPECT_FALSE(*file_store().exists(*r + "/pytorch_model.bin"));
  EXPECT_FALSE(*file_store().exists(*r + "/onnx"));
  std::string model = folder_ + "/cache/models--org--tiny", commit = fs::path(*r).filename();
  EXPECT_EQ(*file_store().read(model + "/refs/main"), commit);
  EXPECT_EQ(*r, model + "/snapshots/" + commit);
  std::string sum = *sha256_of_file(file_store(), *r + "/model.safetensors");
  EXPECT_EQ(fs::read_symlink(*r + "/model.safetensors"), "../../blobs/" + sum);
  EXPECT_EQ(*file_store().read(model + "/blobs/" + sum), kWeights);
  EXPECT_TRUE(*file_store().exists(folder_ + "/cache/.locks/models--org--tiny/" + sum + ".lock"));

  log();
  ASSERT_TRUE(resolve_model("hf://org/tiny@main", options()).ok());
  EXPECT_EQ(log().size(), 1u);  // only what main means now
  ASSERT_TRUE(resolve_model("org/tiny@" + commit, options()).ok());
  EXPECT_EQ(log().size(), 0u);  // a commit cannot change
}

TEST_F(HubTest, NamesWithoutOrganisationRevisionsAndNoWeights) {
  put("gpt2/config.json", "{}");
  put("gpt2/model.safetensors", kWeights);
  put("gpt2@v2/config.json", "{\"v\": 2}");
  put("gpt2@v2/model.safetensors", kWeights);
  ResolveOptions o = options();
  o.weights = false;
  Result<std::string> r = resolve_model("gpt2", o);
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_FALSE(*file_store().exists(*r + "/model.safetensors"));
  r = resolve_model("gpt2@v2", options());
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(*file_store().read(*r + "/config.json"), "{\"v\": 2}");
  EXPECT_EQ(code(resolve_model("gpt2@v3", options())), "H0110");
}

TEST_F(HubTest, OfflineUsesTheCacheAlone) {
  ResolveOptions o = options();
  o.offline = true;
  EXPECT_EQ(code(resolve_model("org/tiny", o)), "H0112");
  std::string online = *resolve_model("org/tiny", options());
  log();
  EXPECT_EQ(*resolve_model("org/tiny", o), online);
  ::setenv("HF_HUB_OFFLINE", "1", 1);
  EXPECT_EQ(*resolve_model("org/tiny", options()), online);
  ::unsetenv("HF_HUB_OFFLINE");
  EXPECT_EQ(log().size(), 0u);
  EXPECT_EQ(code(resolve_model("org/tiny@other", o)), "H0112");

  // A cache that holds the configuration alone is not enough for a run that needs weights.
  fs::remove(online + "/model.safetensors");
  EXPECT_EQ(code(resolve_model("org/tiny", o)), "H0112");
  o.weights = false;
  EXPECT_EQ(code(resolve_model("org/tiny", o)), "");
}

TEST_F(HubTest, WithoutNetworkTheCacheIsUsedAndItIsSaid) {
  std::string online = *resolve_model("org/tiny", options());
  std::string said;
  set_log_sink([&](std::string_view text) { said += text; });
  ResolveOptions o = options();
  o.endpoint = "http://127.0.0.1:1";
  o.progress = true;
  EXPECT_EQ(*resolve_model("org/tiny", o), online);
  EXPECT_EQ(said, "warning: the hub cannot be reached: using org/tiny from the cache\n");
  o.http.retries = 1;
  Result<std::string> r = resolve_model("org/other", o);
  EXPECT_EQ(code(r), "H0107");
}

TEST_F(HubTest, CutConnectionsAreContinued) {
  fault("kind=cut&match=/cdn/&count=3&after=12000");
  fault("kind=status&match=config.json&count=2");
  Result<std::string> r = resolve_model("org/tiny", options());
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(*file_store().read(*r + "/model.safetensors"), kWeights);
  std::vector<std::string> ranges;
  for (const Json& e : log()) {
    std::string path = e["path"];
    if (path.find("/cdn/") != std::string::npos && path.ends_with("model.safetensors") &&
        !e["range"].is_null())
      ranges.push_back(e["range"]);
  }
  EXPECT_EQ(ranges, (std::vector<std::string>{"bytes=12000-", "bytes=24000-", "bytes=36000-"}));
}

TEST_F(HubTest, AServerThatDripsIsNotWaitedFor) {
  fault("kind=drip&match=/cdn/org/tiny&after=10&count=9");
  ResolveOptions o = options();
  o.http.retries = 1;
  o.http.stall_timeout_seconds = 1;
  Result<std::string> r = resolve_model("org/tiny", o);
  ASSERT_EQ(code(r), "H0107");
  EXPECT_NE(r.error().text().find("1000 bytes"), std::string::npos) << r.error().text();
  EXPECT_NE(r.error().text().find("HONE_DOWNLOAD_LEAST_RATE"), std::string::npos);
  // Fast enough by the least rate, but not by the deadline.
  o.http.least_rate = 1;
  o.http.deadline_seconds = 1;
  o.http.clock = &system_clock();
  r = resolve_model("org/tiny", o);
  ASSERT_EQ(code(r), "H0107");
  EXPECT_NE(r.error().text().find("HONE_DOWNLOAD_DEADLINE"), std::string::npos) << r.error().text();
}

TEST_F(HubTest, AnAnswerWithoutEndIsCutOff) {
  fault("kind=endless&match=/api/models/org/tiny&count=1");
  ResolveOptions o = options();
  o.http.most_body_bytes = 8 << 20;
  const Result<std::string> r = resolve_model("org/tiny", o);
  ASSERT_EQ(code(r), "H0108");
  EXPECT_NE(r.error().text().find("longer than 8.0 MiB"), std::string::npos) << r.error().text();
}

TEST_F(HubTest, AWaitThatIsNoNumberIsOurOwn) {
  fault("kind=retry_nan&match=/api/models/org/tiny&count=2");
  const double before = clock_.seconds();
  ASSERT_TRUE(resolve_model("org/tiny", options()).ok());
  // Its own pauses are half as long again at most.
  EXPECT_GE(clock_.seconds() - before, 0.01 + 0.02);
  EXPECT_LE(clock_.seconds() - before, 1.5 * (0.01 + 0.02));
}

TEST_F(HubTest, TheNextRunContinuesABrokenDownload) {
  fault("kind=cut&match=/cdn/org/tiny&after=20000&count=1");
  ResolveOptions o = options();
  o.http.retries = 0;
  EXPECT_EQ(code(resolve_model("org/tiny", o)), "H0107");
  log();
  Result<std::string> r = resolve_model("org/tiny", options());
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(*file_store().read(*r + "/model.safetensors"), kWeights);
  EXPECT_NE(dump_json(log()).find("bytes=20000-"), std::string::npos);
  for (const auto& e : fs::directory_iterator(folder_ + "/cache/models--org--tiny/blobs")) {
    EXPECT_NE(e.path().extension(), ".incomplete");
  }
}

TEST_F(HubTest, ServersWithoutRangesStartAgain) {
  fault("kind=cut&match=/cdn/&count=1&after=12000");
  fault("kind=norange&match=/cdn/&count=1");
  Result<std::string> r = resolve_model("org/tiny", options());
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(*file_store().read(*r + "/model.safetensors"), kWeights);
}

TEST_F(HubTest, DamagedFilesAreFetchedAgainThenRefused) {
  fault("kind=corrupt&match=/cdn/org/tiny&count=1");
  Result<std::string> r = resolve_model("org/tiny", options());
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(*file_store().read(*r + "/model.safetensors"), kWeights);
  put("org/small/config.json", "{}");
  put("org/small/model.safetensors", "w");
  fault("kind=corrupt&match=config.json&count=2");
  r = resolve_model("org/small", options());
  EXPECT_EQ(code(r), "H0113");
  for (const auto& e : fs::directory_iterator(folder_ + "/cache/models--org--small/blobs"))
    ADD_FAILURE() << e.path();
}

TEST_F(HubTest, GatedMissingAndNamesThatAreNone) {
  put("org/gated/config.json", "{}");
  put("org/gated/model.safetensors", kWeights);
  put("org/gated/.gated", "");
  put("org/pickle/config.json", "{}");
  put("org/pickle/tf_model.h5", "w");
  put("org/torch/config.json", "{}");
  put("org/torch/pytorch_model.bin", "w");
  EXPECT_EQ(code(resolve_model("org/gated", options())), "H0111");
  ResolveOptions o = options();
  o.token = "bad-token";
  EXPECT_EQ(code(resolve_model("org/gated", o)), "H0111");
  ::setenv("HF_TOKEN", "good-token", 1);
  log();
  EXPECT_EQ(code(resolve_model("org/gated", options())), "");
  int with_token = 0;
  for (const Json& e : log()) {  // the hub sees the token, the host of the content does not
    bool content = e["path"].get<std::string>().starts_with("/cdn/");
    EXPECT_EQ(e["authorization"].is_null(), content) << e;
    with_token += !content;
  }
  EXPECT_GT(with_token, 2);
  ::unsetenv("HF_TOKEN");
  EXPECT_EQ(code(resolve_model("org/none", options())), "H0110");
  EXPECT_EQ(code(resolve_model("org/pickle", options())), "H0115");
  EXPECT_EQ(*file_store().read(*resolve_model("org/torch", options()) + "/pytorch_model.bin"), "w");
  EXPECT_EQ(code(resolve_model("a/b/c", options())), "H0114");
  EXPECT_EQ(code(resolve_model("", options())), "H0114");
  EXPECT_EQ(code(resolve_model("org/x@../../y", options())), "H0114");
  EXPECT_EQ(code(resolve_model("./nowhere", options())), "H0101");
  EXPECT_EQ(*resolve_model(folder_, options()), folder_);
}

TEST_F(HubTest, DataSetsHaveTheirOwnRoutesFoldersAndNames) {
  put("datasets/org/facts/README.md", "---\n---\n");
  put("datasets/org/facts/data/en/train 1.jsonl", std::string(2000, 'x'));
  put("datasets/org/facts@refs%2Fconvert%2Fparquet/default/train/0000.parquet", "p");
  put("datasets/facts/.moved", "org/facts");
  Result<HubRepository> r = HubRepository::open(HubKind::kDataset, "facts", options());
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(r->id(), "facts");
  EXPECT_EQ(r->hub_id(), "org/facts");
  EXPECT_EQ(r->files(), (std::vector<std::string>{"README.md", "data/en/train 1.jsonl"}));
  EXPECT_TRUE(r->has("README.md"));
  Result<std::string> path = r->file("data/en/train 1.jsonl");
  ASSERT_TRUE(path.ok()) << path.error().text();
  std::string home = folder_ + "/cache/datasets--facts";
  EXPECT_EQ(*path, home + "/snapshots/" + r->commit() + "/data/en/train 1.jsonl");
  EXPECT_EQ(*file_store().read(*path), std::string(2000, 'x'));
  ASSERT_TRUE(r->remember().ok());

  HubOptions branch = options();
  branch.revision = "refs/convert/parquet";
  Result<HubRepository> parquet =
      HubRepository::open(HubKind::kDataset, "hf://datasets/org/facts", branch);
  ASSERT_TRUE(parquet.ok()) << parquet.error().text();
  EXPECT_EQ(parquet->files(), (std::vector<std::string>{"default/train/0000.parquet"}));

  // Offline the list is whole, though not every file is there.
  HubOptions offline = options();
  offline.offline = true;
  Result<HubRepository> again = HubRepository::open(HubKind::kDataset, "facts", offline);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_TRUE(again->from_cache());
  EXPECT_EQ(again->files(), r->files());
  EXPECT_EQ(*again->file("data/en/train 1.jsonl"), *path);
  EXPECT_EQ(code(again->file("README.md")), "H0112");
}

TEST_F(HubTest, PrivateDataSetsAreLikeAbsentOnes) {
  put("datasets/org/secret/a.csv", "text\na\n");
  put("datasets/org/secret/.private", "");
  auto open = [&](std::string token) {
    HubOptions o = options();
    o.token = token;
    Result<HubRepository> r = HubRepository::open(HubKind::kDataset, "org/secret", o);
    return r.ok() ? "" : r.error().code();
  };
  EXPECT_EQ(open("good-token"), std::string());
  EXPECT_EQ(open(""), std::string("H0110"));
  EXPECT_EQ(open("bad-token"), std::string("H0110"));
}

TEST_F(HubTest, AStopIsHeardAndTheServersTroubleIsTold) {
  request_stop(SIGTERM);
  EXPECT_EQ(code(resolve_model("org/tiny", options())), "H0109");
  request_stop(0);
  fault("kind=status&match=/api/&count=9");
  ResolveOptions o = options();
  o.http.retries = 1;
  EXPECT_EQ(code(resolve_model("org/tiny", o)), "H0108");
}

TEST_F(HubTest, WebFilesAreAStore) {
  std::string url = hub_.endpoint() + "/org/tiny/resolve/main/model.safetensors";
  Store& web = http_store();
  EXPECT_EQ(*web.bytes(url), static_cast<int64_t>(kWeights.size()));
  EXPECT_EQ(*web.read(url, 1000, 500), kWeights.substr(1000, 500));
  fault("kind=cut&match=/cdn/&count=1&after=100");
  EXPECT_EQ(*web.read(url), kWeights);
  EXPECT_FALSE(*web.exists(hub_.endpoint() + "/org/tiny/resolve/main/none"));
  EXPECT_STREQ(web.read(hub_.endpoint() + "/none").error().code(), "H0101");
  EXPECT_STREQ(web.write(url, "x").error().code(), "H0106");
}

TEST(Hub, WantedFiles) {
  using V = std::vector<std::string>;
  EXPECT_EQ(wanted_files({"config.json", "model.safetensors", "model.fp16.safetensors",
                          "consolidated.safetensors", "README.md", "pytorch_model.bin",
                          "original/x.safetensors"},
                         true, {}),
            (V{"config.json", "model.safetensors"}));
  EXPECT_EQ(wanted_files({"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                          "consolidated.safetensors", "model.safetensors.index.json"},
                         true, {}),
            (V{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
               "model.safetensors.index.json"}));
  // Files of torch.save are taken only if there is nothing better, and once.
  EXPECT_EQ(wanted_files({"pytorch_model.bin", "pytorch_model.bin.index.json",
                          "pytorch_model-00001-of-00001.bin", "training_args.bin",
                          "adapter_model.safetensors"},
                         true, {}),
            (V{"pytorch_model.bin", "adapter_model.safetensors"}));
  EXPECT_EQ(
      wanted_files({"pytorch_model.bin.index.json", "pytorch_model-00001-of-00001.bin"}, true, {}),
      (V{"pytorch_model.bin.index.json", "pytorch_model-00001-of-00001.bin"}));
  // Modules of sentence-transformers have folders of their own.
  const V modules{"1_Pooling/config.json", "2_Dense/model.safetensors", "modules.json",
                  "onnx/config.json"};
  EXPECT_EQ(wanted_files(modules, true, {}), V(modules.begin(), modules.begin() + 3));
  EXPECT_EQ(wanted_files(modules, false, {}), (V{"1_Pooling/config.json", "modules.json"}));
  EXPECT_EQ(wanted_files({"1_Pooling/config.json"}, true, {}), V{});
  EXPECT_EQ(wanted_files({"pytorch_model.bin"}, false, {}), V{});
  EXPECT_EQ(
      wanted_files({"config.json", "x.safetensors", "a.gguf", "tokenizer.json"}, false, {"*.gguf"}),
      (V{"config.json", "a.gguf", "tokenizer.json"}));
}

}  // namespace
}  // namespace hone

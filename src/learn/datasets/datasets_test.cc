// Splits against the answers of Hugging Face datasets, and data sets of the fake hub.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/store/fake_hub.h"
#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "learn/data/rows/files.h"
#include "learn/datasets/fetch.h"
#include "learn/datasets/sources.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using V = std::vector<std::string>;

class DatasetsTest : public ::testing::Test {
 protected:
  void SetUp() override { fresh_hub_environment(folder_); }
  void put(const std::string& path, const std::string& text) {
    const std::string at = folder_ + "/" + path;
    ASSERT_TRUE(file_store().make_dirs(fs::path(at).parent_path().string()).ok());
    ASSERT_TRUE(file_store().write(at, text).ok());
  }
  // A hub over folder_/hub; false when there is no python3.
  bool start_hub() {
    if (!fake_.start(folder_ + "/hub")) return false;
    hub_.endpoint = fake_.endpoint();
    hub_.progress = false;
    hub_.http.first_wait_seconds = 0.01;
    hub_.http.retries = 1;
    return true;
  }
  Result<Dataset> open(const std::string& name, const std::string& config = "") {
    return Dataset::open({name, config, hub_});
  }
  template <class T>
  static std::string code(const Result<T>& r) {
    return r.ok() ? "" : r.error().code();
  }
  // File names without their folders.
  static V names(const Result<V>& paths) {
    V out;
    for (const std::string& p : *paths) out.push_back(fs::path(p).filename());
    return out;
  }

  TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path;
  FakeHub fake_;
  HubOptions hub_;
};

TEST_F(DatasetsTest, FoldersAsDatasetsReadsThem) {
  const Json cases = *read_json_file(std::string(HONE_SOURCE_DIR) +
                                     "/tests/goldens/learn_datasets/data_files.json");
  int number = 0;
  for (const Json& c : cases) {
    const std::string base = fmt::format("case{}", number++);
    for (const Json& f : c["files"]) put(base + "/" + f.get<std::string>(), "");
    if (const std::string header = c["header"]; !header.empty())
      put(base + "/README.md", "---\n" + header + "---\n# A data set\n");
    for (const Json& asked : c["asked"]) {
      const std::string config = asked[0];
      SCOPED_TRACE(c["files"].dump() + " asked for '" + config + "'");
      Result<Dataset> d = open(folder_ + "/" + base, config);
      const Json& answer = asked[1];
      if (answer.is_string()) {
        // A subset called default means none for hone wherever no other is so called.
        EXPECT_TRUE(config == "default" || !d.ok());
        continue;
      }
      if (answer["format"] == "imagefolder") {
        EXPECT_EQ(code(d), "H2805");
        continue;
      }
      ASSERT_TRUE(d.ok()) << d.error().text();
      EXPECT_EQ(d->config().empty() ? answer["config"].get<std::string>() : d->config(),
                answer["config"].get<std::string>());
      Json splits = Json::array();
      for (const std::string& split : d->splits()) {
        Json files = Json::array();
        const V paths = *d->files(split);
        for (const std::string& path : paths)
          files.push_back(fs::path(path).lexically_relative(folder_ + "/" + base));
        splits.push_back({split, files});
      }
      EXPECT_EQ(splits, answer["splits"]);
    }
  }
  EXPECT_GT(number, 20);
}

TEST_F(DatasetsTest, MistakesAreNamed) {
  put("two/README.md",
      "---\nconfigs:\n- config_name: wikitext-2-raw-v1\n  data_files: a.csv\n"
      "- config_name: wikitext-103-raw-v1\n  data_files: b.csv\n---\n");
  put("two/a.csv", "");
  put("two/b.csv", "");
  Result<Dataset> d = open(folder_ + "/two");
  EXPECT_EQ(code(d), "H2801");
  EXPECT_NE(d.error().remedy().find("wikitext-2-raw-v1, wikitext-103-raw-v1"), std::string::npos);
  d = open(folder_ + "/two", "wikitext-2-raw");
  EXPECT_EQ(code(d), "H2801");
  EXPECT_TRUE(d.error().remedy().starts_with("did you mean 'wikitext-2-raw-v1'?"));
  d = open(folder_ + "/two", "wikitext-2-raw-v1");
  Result<V> files = d->files("tran");
  EXPECT_EQ(code(files), "H2802");
  EXPECT_TRUE(files.error().remedy().starts_with("did you mean 'train'?"));

  put("typo/README.md", "---\nconfigs:\n- config_name: x\n  data_files: trian.csv\n---\n");
  put("typo/train.csv", "");
  d = open(folder_ + "/typo");
  EXPECT_EQ(code(d), "H2806");
  EXPECT_EQ(d.error().remedy(), "did they mean 'train.csv'?");
  put("bad/README.md", "---\nconfigs: [\n---\n");
  d = open(folder_ + "/bad");
  EXPECT_EQ(code(d), "H2803");
  EXPECT_NE(d.error().what().find("/bad/README.md:"), std::string::npos) << d.error().what();
  put("stars/README.md", "---\nconfigs:\n- config_name: x\n  data_files: 'a**b.csv'\n---\n");
  EXPECT_EQ(code(open(folder_ + "/stars")), "H2806");
  fs::create_directory(folder_ + "/empty");
  EXPECT_EQ(code(open(folder_ + "/empty")), "H2805");
  EXPECT_EQ(code(open("./nowhere")), "H2805");
}

TEST_F(DatasetsTest, LabelNamesOfTheHeader) {
  DatasetCard card = *parse_card(
      "---\r\ndataset_info:\r\n- config_name: sst2\r\n  features:\r\n  - name: label\r\n    "
      "dtype:\r\n"
      "      class_label:\r\n        names:\r\n          '0': negative\r\n          '1': "
      "positive\r\n"
      "  - name: sentence\r\n    dtype: string\r\n"
      "configs:\n- config_name: sst2\n  data_files: a.csv\n  sep: ;\n---\nText",
      "README.md");
  ASSERT_EQ(card.configs.size(), 1u);
  EXPECT_EQ(card.configs[0].labels, (LabelNames{{"label", {"negative", "positive"}}}));
  EXPECT_EQ(card.configs[0].not_used, (V{"sep"}));
  EXPECT_TRUE(parse_card("# no header", "README.md")->configs.empty());
  EXPECT_TRUE(parse_card("---\nnever closed\n", "README.md")->configs.empty());
}

TEST_F(DatasetsTest, LabelNamesOfColumnsOfLists) {
  for (const char* key : {"sequence", "list"}) {
    const DatasetCard card = *parse_card(
        fmt::format("---\ndataset_info:\n  features:\n  - name: tokens\n    {0}: string\n  - name: "
                    "ner_tags\n    {0}:\n      class_label:\n        names:\n          '0': O\n"
                    "          '1': B-PER\n---\n",
                    key),
        "README.md");
    ASSERT_TRUE(card.labels.contains("default"));
    EXPECT_EQ(card.labels.at("default"), (LabelNames{{"ner_tags", {"O", "B-PER"}}})) << key;
  }
  const std::string file =
      std::string(HONE_SOURCE_DIR) + "/tests/goldens/learn_datasets/words.parquet";
  Result<std::unique_ptr<RowReader>> rows = open_rows({file});
  if (code(rows) == "H2112") GTEST_SKIP() << rows.error().text();
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  EXPECT_EQ((*rows)->label_names(), (LabelNames{{"ner_tags", {"O", "B-PER"}}}));
}

TEST_F(DatasetsTest, LabelNamesOfAParquetFile) {
  const std::string file =
      std::string(HONE_SOURCE_DIR) + "/tests/goldens/learn_datasets/labels.parquet";
  Result<std::unique_ptr<RowReader>> rows = open_rows({file});
  if (code(rows) == "H2112") GTEST_SKIP() << rows.error().text();
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  EXPECT_EQ((*rows)->label_names(), (LabelNames{{"label", {"negative", "positive"}}}));
}

TEST_F(DatasetsTest, HubSetsComeBySplitAndStayForOfflineRuns) {
  put("hub/datasets/Salesforce/wikitext/README.md",
      "---\nconfigs:\n- config_name: wikitext-103-raw-v1\n  data_files:\n  - split: train\n"
      "    path: wikitext-103-raw-v1/train-*\n- config_name: wikitext-2-raw-v1\n  data_files:\n"
      "  - split: test\n    path: wikitext-2-raw-v1/test-*\n  - split: train\n"
      "    path: wikitext-2-raw-v1/train-*\n---\n");
  for (const char* f : {"wikitext-103-raw-v1/train-00000-of-00001.jsonl",
                        "wikitext-2-raw-v1/train-00000-of-00002.jsonl",
                        "wikitext-2-raw-v1/train-00001-of-00002.jsonl",
                        "wikitext-2-raw-v1/test-00000-of-00001.jsonl"})
    put(std::string("hub/datasets/Salesforce/wikitext/") + f, "{\"text\": \"a\"}\n");
  put("hub/datasets/wikitext/.moved", "Salesforce/wikitext");
  if (!start_hub()) GTEST_SKIP() << "python3 is missing: the hub of the tests cannot run";

  EXPECT_EQ(code(open("wikitext")), "H2801");
  Result<Dataset> d = open("wikitext", "wikitext-2-raw-v1");
  ASSERT_TRUE(d.ok()) << d.error().text();
  EXPECT_EQ(d->name(), "Salesforce/wikitext");
  EXPECT_EQ(d->splits(), (V{"test", "train"}));
  EXPECT_EQ(d->notes(), (V{"'wikitext' is called Salesforce/wikitext on the hub now"}));
  EXPECT_EQ(names(d->files("train")),
            (V{"train-00000-of-00002.jsonl", "train-00001-of-00002.jsonl"}));
  EXPECT_FALSE(fs::exists(folder_ + "/home/hub/datasets--wikitext/snapshots/wikitext-103-raw-v1"));

  hub_.offline = true;
  d = open("wikitext", "wikitext-2-raw-v1");
  ASSERT_TRUE(d.ok()) << d.error().text();
  EXPECT_EQ(d->files("train")->size(), 2u);
  // A split that was never asked for is not taken for empty.
  EXPECT_EQ(code(d->files("test")), "H0112");
  EXPECT_EQ(code(open("other/set")), "H0112");
}

TEST_F(DatasetsTest, ScriptsAreNotRunTheirParquetBranchIsRead) {
  put("hub/datasets/org/old/old.py", "raise SystemExit");
  put("hub/datasets/org/old/README.md", "---\nlicense: mit\n---\n");
  const std::string branch = "hub/datasets/org/old@refs%2Fconvert%2Fparquet/";
  put(branch + "1.0.0/test/0000.parquet", "a");
  put(branch + "1.0.0/train/0000.parquet", "b");
  put(branch + "1.0.0/train/0001.parquet", "c");
  put(branch + "3.0.0/partial-train/0000.parquet", "d");
  put("hub/datasets/org/alone/alone.py", "");
  put("hub/datasets/org/pictures/a.png", "");
  put("hub/datasets/org/pictures@refs%2Fconvert%2Fparquet/default/train/0000.parquet", "p");
  if (!start_hub()) GTEST_SKIP() << "python3 is missing: the hub of the tests cannot run";

  Result<Dataset> d = open("org/old", "1.0.0");
  ASSERT_TRUE(d.ok()) << d.error().text();
  EXPECT_EQ(d->splits(), (V{"train", "test"}));
  EXPECT_EQ(names(d->files("train")), (V{"0000.parquet", "0001.parquet"}));
  EXPECT_EQ(code(open("org/old")), "H2801");
  EXPECT_EQ(code(open("org/old", "2.0.0")), "H2801");
  EXPECT_EQ(code(open("org/old", "3.0.0")), "H2804");  // half a set is none
  EXPECT_EQ(code(open("org/alone")), "H2804");
  d = open("org/pictures", "default");
  ASSERT_TRUE(d.ok()) << d.error().text();
  EXPECT_EQ(names(d->files("train")), (V{"0000.parquet"}));
  hub_.offline = true;
  EXPECT_EQ(code(open("org/old", "1.0.0")), "");
  EXPECT_EQ(code(open("org/alone")), "H0112");
}

TEST_F(DatasetsTest, GatedPrivateAbsentAndRevisions) {
  put("hub/datasets/org/gated/a.csv", "text\na\n");
  put("hub/datasets/org/gated/.gated", "");
  put("hub/datasets/org/private/a.csv", "text\na\n");
  put("hub/datasets/org/private/.private", "");
  put("hub/datasets/org/set/a.csv", "text\na\n");
  put("hub/datasets/org/set@v1/b.csv", "text\nb\n");
  if (!start_hub()) GTEST_SKIP() << "python3 is missing: the hub of the tests cannot run";
  EXPECT_EQ(code(open("org/gated")), "H0111");
  EXPECT_EQ(code(open("org/private")), "H0110");
  EXPECT_EQ(code(open("org/nothing")), "H0110");
  EXPECT_EQ(code(open("no name")), "H0114");
  EXPECT_EQ(code(open("org/set", "other")), "H2801");
  EXPECT_EQ(names(open("org/set")->files("train")), (V{"a.csv"}));
  hub_.revision = "v1";
  EXPECT_EQ(names(open("org/set")->files("train")), (V{"b.csv"}));
  EXPECT_EQ(names(open("hf://datasets/org/set@main")->files("train")), (V{"a.csv"}));
  hub_.revision = "v2";
  EXPECT_EQ(code(open("org/set")), "H0110");
  hub_.token = "good-token";
  hub_.revision = "main";
  EXPECT_EQ(code(open("org/gated")), "");
}

TEST_F(DatasetsTest, AddressesOfFiles) {
  put("hub/datasets/org/set/data/a 1.csv", "text\na\n");
  put("hub/datasets/org/set/data/b.csv", "text\nb\n");
  put("hub/datasets/org/set@refs%2Fpr%2F1/c.csv", "text\nc\n");
  if (!start_hub()) GTEST_SKIP() << "python3 is missing: the hub of the tests cannot run";
  auto fetch = [&](const std::string& name) { return fetch_data_files(V{name}, hub_); };
  EXPECT_EQ(names(fetch("hf://datasets/org/set/data/b.csv")), (V{"b.csv"}));
  EXPECT_EQ(names(fetch("hf://datasets/org/set@main/**/*.csv")), (V{"a 1.csv", "b.csv"}));
  EXPECT_EQ(names(fetch("hf://datasets/org/set@refs/pr/1/c.csv")), (V{"c.csv"}));
  EXPECT_EQ(names(fetch("hf://datasets/org/set@refs%2Fpr%2F1/c.csv")), (V{"c.csv"}));
  EXPECT_EQ(code(fetch("hf://datasets/org/set/data/bb.csv")), "H2806");
  EXPECT_EQ(code(fetch("hf://datasets/org/set")), "H2806");
  EXPECT_EQ(*fetch("local.csv"), (V{"local.csv"}));

  const std::string url = hub_.endpoint + "/datasets/org/set/resolve/main/data/a%201.csv?x=1";
  const V once = *fetch(url);
  EXPECT_EQ(names(once), (V{"a 1.csv"}));
  EXPECT_EQ(*file_store().read(once[0]), "text\na\n");
  EXPECT_EQ(*fetch(url), once);
  EXPECT_EQ(code(fetch(hub_.endpoint + "/datasets/org/set/resolve/main/none.csv")), "H0101");
  Result<Dataset> d = open(url);
  EXPECT_EQ(*d->files("train"), once);
  hub_.offline = true;
  EXPECT_EQ(*fetch(url), once);
  EXPECT_EQ(code(fetch(url + "2")), "H0112");
}

TEST_F(DatasetsTest, WhatTheFlagsOfATaskMean) {
  put("set/train.csv", "text\na\n");
  put("set/dev.csv", "text\nb\n");
  put("alone/rows.csv", "text\na\n");
  SourceRequest r;
  r.dataset.name = folder_ + "/set";
  r.train_file = {"x.csv"};
  r.want_validation = true;
  DataSources s = *find_sources(r);
  EXPECT_EQ(s.train, (V{folder_ + "/set/train.csv"}));
  EXPECT_EQ(s.validation, (V{folder_ + "/set/dev.csv"}));
  EXPECT_TRUE(s.has_validation);
  EXPECT_EQ(s.notes.size(), 2u);  // --train_file is not read; the splits
  r.want_train = false;
  EXPECT_TRUE(find_sources(r)->train.empty());
  r.dataset.name = folder_ + "/alone/rows.csv";
  s = *find_sources(r);
  EXPECT_FALSE(s.has_validation);
  EXPECT_EQ(s.train, (V{folder_ + "/alone/rows.csv"}));
  r.dataset.name = "";
  s = *find_sources(r);
  EXPECT_EQ(s.train, (V{"x.csv"}));
}

}  // namespace
}  // namespace hone

// Tests of the names that models and data have where they come from.
#include "operate/monitor/origin.h"

#include <gmock/gmock.h>

#include "base/store/store.h"
#include "base/store/temporary_folder.h"

namespace hone {
namespace {

TEST(Origin, NamesWhatAFolderWasFilledWith) {
  const TemporaryFolder folder;
  const std::string pulled = folder.path + "/download";
  Store& files = file_store();
  ASSERT_TRUE(files.make_dirs(pulled).ok());
  ASSERT_TRUE(write_origin(pulled, {"org/t5", "news 3.0.0"}).ok());
  EXPECT_EQ(model_name_of(pulled + "/model/"), "org/t5");
  EXPECT_EQ(data_name_of(pulled + "/data"), "news 3.0.0");
  EXPECT_EQ(data_name_of(pulled + "/data/train.jsonl"), "news 3.0.0");
  EXPECT_EQ(data_name_of(pulled + "/other.jsonl"), pulled + "/other.jsonl");
  EXPECT_EQ(model_name_of(pulled + "/other"), pulled + "/other");
}

TEST(Origin, NamesTheFilesThatWereCopied) {
  const TemporaryFolder folder;
  const std::string pulled = folder.path + "/download", own = folder.path + "/rows.jsonl",
                    copy = pulled + "/data/train-00000-of-00001.jsonl";
  ASSERT_TRUE(file_store().make_dirs(pulled).ok());
  ASSERT_TRUE(write_origin(pulled, {.files = {{"train-00000-of-00001.jsonl", own}}}).ok());
  EXPECT_EQ(with_pulled_files(pulled + "/data", "first " + copy + ":7"), "first " + copy + ":7")
      << "it is no longer there";
  ASSERT_TRUE(file_store().write(own, "{}\n").ok());
  EXPECT_EQ(with_pulled_files(pulled + "/data/", copy + ":7 and " + copy + ":9"),
            own + ":7 and " + own + ":9");
  EXPECT_EQ(with_pulled_files("rows", "rows/train.jsonl:1"), "rows/train.jsonl:1");
}

TEST(Origin, NamesTheFilesThatShardsWereMadeFrom) {
  const TemporaryFolder folder;
  const std::string pulled = folder.path + "/download", shards = folder.path + "/preprocess";
  Store& files = file_store();
  ASSERT_TRUE(files.make_dirs(pulled).ok());
  ASSERT_TRUE(files.make_dirs(shards).ok());
  ASSERT_TRUE(write_origin(pulled, {"t5-small", "news"}).ok());
  const std::string manifest = R"({"sources": [{"split": "train", "file": ")" + pulled +
                               R"(/data/a.jsonl"}, {"split": "validation", "file": ")" + pulled +
                               R"(/data/b.jsonl"}, {"split": "train", "file": "rows.csv"}]})";
  ASSERT_TRUE(files.write(shards + "/hone_shards.json", manifest).ok());
  EXPECT_EQ(data_name_of(shards), "news rows.csv");
  EXPECT_EQ(source_hashes(shards), "") << "an old manifest";
  // Paths are relative to the folder where the shards were made, wherever their reader is.
  ASSERT_TRUE(files
                  .write(shards + "/hone_shards.json",
                         R"({"sources": [{"split": "train", "file": "download/data/a.jsonl",
                             "sha256": "00"}, {"split": "test", "file": "b.csv", "sha256": "01"}]})")
                  .ok());
  EXPECT_EQ(data_name_of(shards), "download/data/a.jsonl b.csv") << "there is no such file";
  ASSERT_TRUE(files.make_dirs(pulled + "/data").ok());
  ASSERT_TRUE(files.write(pulled + "/data/a.jsonl", "{}").ok());
  EXPECT_EQ(data_name_of(shards), "news b.csv");
  EXPECT_EQ(source_hashes(shards + "/"), "train\t00\ntest\t01\n");
  ASSERT_TRUE(files.write(shards + "/hone_shards.json", "{").ok());
  EXPECT_EQ(data_name_of(shards), shards) << "a damaged file names nothing";
}

TEST(Origin, KnowsTheCacheOfTheHub) {
  EXPECT_EQ(model_name_of("/cache/hub/models--org--name/snapshots/0123"), "org/name");
  EXPECT_EQ(data_name_of("/cache/hub/datasets--squad/snapshots/0123/a.parquet"), "squad");
  EXPECT_EQ(model_name_of("gpt2"), "gpt2");
  EXPECT_EQ(model_name_of("out/first/"), "out/first");
}

}  // namespace
}  // namespace hone

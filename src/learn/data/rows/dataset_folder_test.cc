// Folders that datasets' save_to_disk wrote (tools/golden_data.py).
#include "learn/data/rows/dataset_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learn/data/rows/files.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kDataset = HONE_SOURCE_DIR "/tests/goldens/learn_data/dataset";

TEST(DatasetFolder, StandsWhereAFileMayStand) {
  EXPECT_TRUE(is_dataset_folder(kDataset));
  EXPECT_TRUE(is_dataset_folder(kDataset + "/test/"));
  EXPECT_FALSE(is_dataset_folder(HONE_SOURCE_DIR));
  EXPECT_THAT(*dataset_splits(kDataset), ElementsAre("train", "validation", "test"));
  EXPECT_TRUE(dataset_splits(kDataset + "/test")->empty());
  EXPECT_THAT(*expand_files(std::vector{kDataset + "/", kDataset + "/test"}),
              ElementsAre(kDataset + "/train/data-00000-of-00002.arrow",
                          kDataset + "/train/data-00001-of-00002.arrow",
                          kDataset + "/test/data-00000-of-00001.arrow"));
  EXPECT_EQ(dataset_files(kDataset, "valid").error().text(),
            fmt::format("H2131  the dataset '{0}' has no split 'valid'\n  do   it has train, "
                        "validation, test; name one by its folder, for example {0}/train",
                        kDataset));
}

TEST(DatasetFolder, DamagedFilesAreNamed) {
  for (const char* text : {"{}", "[]", "{\"splits\":[]}", "{\"splits\":[1]}",
                           "{\"splits\":[\"../x\"]}", "{\"splits\":[\"\"]}", "{\"splits\":{}}"})
    EXPECT_THAT(splits_of_text(text, "d.json").error().text(), HasSubstr("H2131")) << text;
  for (const char* text :
       {"{}", "{\"_data_files\":[]}", "{\"_data_files\":[{\"filename\":\"/etc/x\"}]}",
        "{\"_data_files\":[\"x\"]}"})
    EXPECT_THAT(files_of_text(text, "state.json").error().text(), HasSubstr("H2131")) << text;
  EXPECT_THAT(files_of_text("{\"_data_files\":[{\"filename\":\"a.arrow\"}],"
                            "\"_indices_data_files\":[{\"filename\":\"indices.arrow\"}]}",
                            "state.json")
                  .error()
                  .text(),
              HasSubstr("flatten_indices"));
  EXPECT_THAT(files_of_text("{\"_data_files\":", "state.json").error().text(), HasSubstr("H0001"));
}

}  // namespace
}  // namespace hone

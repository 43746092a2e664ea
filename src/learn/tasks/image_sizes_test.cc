#include "learn/tasks/image_sizes.h"

#include <gmock/gmock.h>

#include <map>

#include "learn/tasks/repeated_rows.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ImageSizes, SizesOfEpochs) {
  EXPECT_TRUE(ImageSizes::make({}, 224)->sides().empty());
  const ImageSizes sizes = ImageSizes::make({"2:160", "5:128", "7:224"}, 96).value();
  EXPECT_THAT(sizes.sides(), ElementsAre(96, 128, 160, 224));
  std::vector<int64_t> by_epoch;
  for (int64_t epoch = 0; epoch < 9; ++epoch) by_epoch.push_back(sizes.sides()[sizes.index(epoch)]);
  EXPECT_THAT(by_epoch, ElementsAre(96, 96, 160, 160, 160, 128, 128, 224, 224));
  EXPECT_THAT(ImageSizes::make({"0:128"}, 96)->sides(), ElementsAre(128));
}

TEST(ImageSizes, RefusesOtherWords) {
  for (const char* word : {"128", "a:128", "1:", "-1:128", "1:0", "1:128x", "1:99999999"})
    EXPECT_THAT(ImageSizes::make({word}, 96).error().text(), HasSubstr("is not EPOCH:PIXELS"))
        << word;
  EXPECT_FALSE(ImageSizes::make({"3:128", "3:160"}, 96).ok());
}

// timm's RepeatAugSampler: images one after another, the number of rows in lots of 256, and other images in the next epoch.
TEST(RepeatedRows, PlacesOfAnEpoch) {
  const RepeatedRows rows(1000, 3, RowOrder::shuffled(1000, 7));
  EXPECT_EQ(rows.places(), 768);
  for (const int64_t epoch : {0, 1}) {
    std::map<int64_t, int> times;
    for (int64_t place = 0; place < rows.places(); ++place) {
      EXPECT_EQ(rows.row(epoch, place), rows.row(epoch, place / 3 * 3));
      ++times[rows.row(epoch, place)];
    }
    EXPECT_EQ(times.size(), 256);
    for (const auto& [row, count] : times) EXPECT_EQ(count, 3) << row;
  }
  EXPECT_NE(rows.row(0, 0), rows.row(1, 0));
  EXPECT_EQ(RepeatedRows(100, 3, RowOrder::sequential(100)).places(), 100);
  const RepeatedRows once(1000, 1, RowOrder::shuffled(1000, 7));
  EXPECT_EQ(once.places(), 1000);
  EXPECT_EQ(once.row(4, 17), 17);
}

}  // namespace
}  // namespace hone

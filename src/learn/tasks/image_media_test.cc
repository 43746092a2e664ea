#include "learn/tasks/image_media.h"

#include <gmock/gmock.h>

#include "learn/images/decode.h"
#include "learn/images/errors.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

struct MediaRun {
  explicit MediaRun(int64_t evaluated = 10, int64_t images = 3, int64_t embeddings = 4) {
    s.log_images = images, s.log_embeddings = embeddings;
    processor.mean = {0.485, 0.456, 0.406}, processor.std = {0.229, 0.224, 0.225};
    media.emplace(s, processor, std::vector<std::string>{"cat", "dog|wolf", "owl"}, evaluated);
  }
  // Ends an evaluation whose rows have images of one colour, their number; row 7 has none.
  void end_evaluation() {
    media->end_evaluation(
        [this](int64_t row, Image& to) -> Status {
          ++made;
          if (row == 7) return Error(err::kImageDamaged, "no image");
          to.resize(8, 8);
          std::fill(to.pixels.begin(), to.pixels.end(), static_cast<uint8_t>(row));
          return Ok{};
        },
        [](int64_t row) { return fmt::format("val/{}.jpg", row); });
  }
  ImageClassificationSettings s;
  ImageProcessor processor;
  std::optional<ImageMedia> media;
  int made = 0;
};

Image decoded(const std::string& png) {
  auto image = decode_image(png);
  EXPECT_TRUE(image.ok());
  return image.ok() ? std::move(*image) : Image();
}

TEST(ImageMedia, ABatchHasTheBytesOfItsPixels) {
  MediaRun run;
  const ImageProcessor::Table table = run.processor.table();
  std::vector<float> pixels;  // two images of 16 x 8
  for (int i = 0; i < 2 * 16 * 8 * 3; ++i)
    pixels.push_back(table[static_cast<size_t>(i % 3)][static_cast<size_t>(i * 7 % 256)]);
  const std::vector<int32_t> ids{2, -100};
  MediaBatch batch{pixels, ids, {}, 16, 8, {"train/owl/1.png", "train/cat/2.png"}};
  ASSERT_TRUE(run.media->wants_batch(5));
  run.media->add_batch(batch);
  EXPECT_FALSE(run.media->wants_batch(6)) << "another step";
  ASSERT_TRUE(run.media->wants_batch(5));
  run.media->add_batch(batch);
  EXPECT_FALSE(run.media->wants_batch(5)) << "three images";
  const LogMedia log = run.media->take();
  ASSERT_THAT(log.images, SizeIs(3));
  EXPECT_EQ(log.images[2].tag, "train_images/3");
  EXPECT_EQ(log.images[0].width, 16);
  const Image image = decoded(log.images[1].png);
  ASSERT_EQ(image.width, 16);
  ASSERT_EQ(image.height, 8);
  for (int i = 0; i < 16 * 8 * 3; ++i)
    ASSERT_EQ(image.pixels[static_cast<size_t>(i / 3 * 4 + i % 3)], (i + 16 * 8 * 3) * 7 % 256);
  ASSERT_THAT(log.texts, SizeIs(1));
  EXPECT_THAT(log.texts[0].markdown, HasSubstr("| number | image | label |\n|--------|"));
  EXPECT_THAT(log.texts[0].markdown, HasSubstr("| 1 | train/owl/1.png | owl |\n"));
  EXPECT_THAT(log.texts[0].markdown, HasSubstr("| 2 | train/cat/2.png | unreadable |"));
  EXPECT_TRUE(run.media->take().empty());
}

TEST(ImageMedia, MixedLabelsAreNamedByTheirShares) {
  MediaRun run;
  const std::vector<float> pixels(4 * 4 * 3), shares{0.3F, 0.7F, 0.001F};
  run.media->add_batch({pixels, {}, shares, 4, 4, {"a.png"}});
  EXPECT_THAT(run.media->take().texts[0].markdown, HasSubstr("| dog\\|wolf 0.70, cat 0.30 |"));
}

TEST(ImageMedia, TheMostCertainWrongPredictionsAreKept) {
  MediaRun run;
  const std::vector<double> probability{0.5, 0.9, 0.6, 0.99, 0.6, 0.7, 0.4, 0.95, 0.2, 0.3};
  for (int evaluation = 0; evaluation < 2; ++evaluation) {
    run.media->begin_evaluation();
    for (int64_t row = 0; row < 10; ++row)
      run.media->add_evaluated(
          {row, 0, row == 3 ? 0 : 1, probability[static_cast<size_t>(row)], {}});
    run.end_evaluation();
    const LogMedia log = run.media->take();
    ASSERT_THAT(log.texts, SizeIs(1));
    // Row 3 is right; row 7 is certain, and its image is missing.
    EXPECT_THAT(log.texts[0].markdown, HasSubstr("| 1 | val/1.jpg | cat | dog\\|wolf | 0.9000 |\n"
                                                 "| 2 | val/5.jpg | cat | dog\\|wolf | 0.7000 |"));
    EXPECT_THAT(log.texts[0].markdown, Not(HasSubstr("val/7.jpg")));
    ASSERT_THAT(log.images, SizeIs(2));
    EXPECT_EQ(log.images[1].tag, "wrong_predictions/2");
    EXPECT_EQ(decoded(log.images[1].png).pixels[0], 5);
    EXPECT_FALSE(log.embeddings) << "no features";
  }
}

TEST(ImageMedia, VectorsAreOfRowsSpreadOverAll) {
  MediaRun run;
  for (int evaluation = 0; evaluation < 2; ++evaluation) {
    run.media->begin_evaluation();
    for (int64_t row = 0; row < 10; ++row) {
      const std::vector<float> features{static_cast<float>(row), 0.5F};
      run.media->add_evaluated({row, row % 3, row % 3, 0.75, features});
    }
    run.end_evaluation();
    const LogMedia log = run.media->take();
    EXPECT_THAT(log.images, IsEmpty());
    ASSERT_TRUE(log.embeddings);
    const LoggedEmbeddings& e = *log.embeddings;
    EXPECT_EQ(e.width, 2);
    EXPECT_THAT(e.values, ElementsAre(0, 0.5F, 2, 0.5F, 5, 0.5F, 7, 0.5F));
    EXPECT_THAT(e.columns, ElementsAre("label", "prediction", "probability", "image"));
    EXPECT_THAT(e.labels[2], ElementsAre("owl", "owl", "0.7500", "val/5.jpg"));
    const Image sprite = decoded(e.sprite);
    ASSERT_EQ(sprite.width, 2 * ImageMedia::kThumbnail);
    ASSERT_EQ(sprite.height, 2 * ImageMedia::kThumbnail);
    const auto at = [&](int64_t column, int64_t row) {
      return sprite.row(row * ImageMedia::kThumbnail)[column * ImageMedia::kThumbnail * 4];
    };
    EXPECT_THAT((std::vector<int>{at(0, 0), at(1, 0), at(0, 1), at(1, 1)}),
                ElementsAre(0, 2, 5, 0));
    EXPECT_EQ(run.made, 4) << "the sprite is made once";
  }
}

TEST(ImageMedia, FewRowsAllHaveVectors) {
  MediaRun run(2, 0, 100);
  EXPECT_FALSE(run.media->wants_batch(0));
  run.media->begin_evaluation();
  const std::vector<float> features{1};
  for (int64_t row = 0; row < 2; ++row) run.media->add_evaluated({row, 0, 1, 0.9, features});
  run.end_evaluation();
  const LogMedia log = run.media->take();
  EXPECT_THAT(log.images, IsEmpty()) << "--log_images 0";
  EXPECT_EQ(log.embeddings->rows(), 2);
}

}  // namespace
}  // namespace hone

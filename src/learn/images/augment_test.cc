// Random changes: the same for a row whatever came before, within their ranges, and the two ways of reading a file.
#include "learn/images/augment.h"

#include <gmock/gmock.h>

#include <cmath>

#include "learn/images/golden_images_test.h"

namespace hone {
namespace {

std::string jpeg_file() {
  for (const Json& c : image_golden("decode.json"))
    if (c["name"] == "jpeg_420") return golden_bytes(c["file"]);
  ADD_FAILURE();
  return "";
}

TEST(Augment, CropsStayInTheImageAndItsRanges) {
  for (const auto& [w, h] : {std::pair{41, 33}, {500, 20}, {3, 400}, {1, 1}}) {
    double area = 0;
    for (int row = 0; row < 300; ++row) {
      PhiloxStream random = row_random(1, 0, row);
      const Box box = random_crop(w, h, {}, random);
      ASSERT_GE(box.x, 0);
      ASSERT_GE(box.y, 0);
      ASSERT_GE(box.width, 1);
      ASSERT_GE(box.height, 1);
      ASSERT_LE(box.x + box.width, w);
      ASSERT_LE(box.y + box.height, h);
      area += static_cast<double>(box.width * box.height) / (w * h);
    }
    if (w == 41) {
      EXPECT_NEAR(area / 300, 0.5, 0.1);
    }
  }
}

TrainingTransform everything() {
  TrainingTransform t;
  t.width = 24, t.height = 20;
  t.policy = Policy::rand_augment;
  t.jitter = {0.4, 0.4, 0.4, 0.1};
  t.erasing_probability = 0.5;
  return t;
}

TEST(Augment, ARowDependsOnSeedEpochAndRowAlone) {
  const std::string bytes = jpeg_file();
  const auto pixels = [&](uint64_t seed, int64_t epoch, int64_t row, TransformMemory& memory) {
    Image image;
    std::optional<Box> erased;
    EXPECT_TRUE(training_pixels(bytes, everything(), {}, row_random(seed, epoch, row), image,
                                erased, memory)
                    .ok());
    return image;
  };
  TransformMemory used, fresh;
  const Image first = pixels(1, 2, 3, used);
  for (int row = 0; row < 20; ++row) pixels(1, 0, row, used);
  EXPECT_EQ(largest_difference(first, pixels(1, 2, 3, used)), 0);
  EXPECT_EQ(largest_difference(first, pixels(1, 2, 3, fresh)), 0);
  EXPECT_GT(largest_difference(first, pixels(2, 2, 3, fresh)), 0);
  EXPECT_GT(largest_difference(first, pixels(1, 3, 3, fresh)), 0);
  EXPECT_GT(largest_difference(first, pixels(1, 2, 4, fresh)), 0);
}

// A random part of a JPEG, of which blocks alone are decoded, is the resized part of the whole image.
TEST(Augment, TheCropOfAFileIsTheCropOfItsImage) {
  const std::string bytes = jpeg_file();
  const auto whole = decode_image(bytes);
  ASSERT_TRUE(whole.ok());
  TrainingTransform t;
  t.width = 17, t.height = 19;
  t.flip_probability = 0;
  for (int row = 0; row < 20; ++row) {
    PhiloxStream random = row_random(0, 0, row);
    const Box crop = random_crop(whole->width, whole->height, {}, random);
    Image cut, wanted, got;
    copy_box(*whole, crop, cut);
    TransformMemory memory;
    resample(cut, cut.box(), {crop.width, crop.height, 17, 19, {0, 0, 17, 19}, t.filter}, wanted,
             memory.resample);
    std::optional<Box> erased;
    ASSERT_TRUE(training_pixels(bytes, t, {}, row_random(0, 0, row), got, erased, memory).ok());
    EXPECT_EQ(largest_difference(got, wanted), 0);
    EXPECT_FALSE(erased);
  }
}

// torchvision: Resize(24) and CenterCrop(20), and a crop larger than the image.
TEST(Augment, EvaluationsResizeAndCutTheMiddle) {
  const std::string bytes = jpeg_file();
  const auto whole = decode_image(bytes);
  ASSERT_TRUE(whole.ok());
  Image resized, cut, got;
  TransformMemory memory;
  const int64_t width = 24 * whole->width / whole->height;  // 29
  resample(*whole, whole->box(),
           {whole->width, whole->height, width, 24, {0, 0, width, 24}, Filter::bilinear}, resized,
           memory.resample);
  ASSERT_TRUE(evaluation_pixels(bytes, {20, 20, 24, 0, 0, Filter::bilinear}, {}, got, memory).ok());
  copy_box(resized, {4, 2, 20, 20}, cut);  // round(4.5) is 4
  EXPECT_EQ(largest_difference(got, cut), 0);
  ASSERT_TRUE(evaluation_pixels(bytes, {35, 30, 24, 0, 0, Filter::bilinear}, {}, got, memory).ok());
  copy_box(resized, {-3, -3, 35, 30}, cut);
  EXPECT_EQ(largest_difference(got, cut), 0);
}

TEST(Augment, ErasedBoxesHaveTorchvisionsSizes) {
  int erased = 0;
  for (int row = 0; row < 400; ++row) {
    PhiloxStream random = row_random(5, 0, row);
    const auto box = random_erasing(32, 32, 0.25, random);
    if (!box) continue;
    ++erased;
    EXPECT_LE(box->x + box->width, 32);
    EXPECT_LE(box->y + box->height, 32);
    EXPECT_LE(box->width * box->height, 32 * 32 * 0.40);
  }
  EXPECT_NEAR(erased, 100, 30);
}

TEST(Augment, MixesHaveTheMeanOfTheirBetaDistribution) {
  double shares = 0, cuts = 0;
  for (int step = 0; step < 500; ++step) {
    PhiloxStream random = step_random(3, step);
    const Mix mix = random_mix({0.8, 1.0}, 32, 24, random);
    ASSERT_GE(mix.share, 0);
    ASSERT_LE(mix.share, 1);
    if (mix.box.width > 0) {
      ++cuts;
      EXPECT_NEAR(mix.share, 1 - static_cast<double>(mix.box.width * mix.box.height) / (32 * 24),
                  1e-12);
    }
    shares += mix.share;
  }
  EXPECT_NEAR(cuts / 500, 0.5, 0.1);
  EXPECT_GT(shares / 500, 0.45);
  PhiloxStream random = step_random(3, 0);
  EXPECT_FALSE(random_mix({}, 32, 24, random).any());
}

TEST(Augment, PoliciesChangeImagesOfAnySize) {
  for (const auto& [w, h] : {std::pair{1, 1}, {2, 9}, {33, 17}})
    for (const Policy policy : {Policy::rand_augment, Policy::trivial_augment})
      for (int row = 0; row < 200; ++row) {
        Image image = image_of(std::string(static_cast<size_t>(w * h * 3), 'x'), w, h), memory;
        PhiloxStream random = row_random(0, 0, row);
        apply_policy(image, policy, 2, 30, random, memory);
        ASSERT_EQ(image.width, w);
        ASSERT_EQ(image.height, h);
      }
}

}  // namespace
}  // namespace hone

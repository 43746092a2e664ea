#include "learn/images/processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learn/images/errors.h"

namespace hone {
namespace {

using testing::HasSubstr;

Result<ImageProcessor> read(const std::string& text) {
  auto json = parse_json(text, "p.json");
  EXPECT_TRUE(json.ok());
  return read_processor(*json, "p.json");
}

TEST(Processor, SizesOfEachType) {
  const auto vit = read(
      R"({"image_processor_type": "ViTImageProcessor", "size": {"height": 224, "width": 192}})");
  ASSERT_TRUE(vit.ok()) << vit.error().text();
  EXPECT_EQ(vit->width, 192);
  EXPECT_EQ(vit->height, 224);
  EXPECT_EQ(vit->edge, 0);
  // Older files: one number is a square of ViT, and the shorter side of ConvNeXT.
  EXPECT_EQ(read(R"({"feature_extractor_type": "ViTFeatureExtractor", "size": 96})")->edge, 0);
  EXPECT_EQ(read(R"({"feature_extractor_type": "ConvNextFeatureExtractor", "size": 96})")->edge,
            96);
  // BiT and DeiT cut the middle.
  const auto bit =
      read(R"({"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 256},
                            "do_center_crop": true, "crop_size": {"height": 224, "width": 224}})");
  EXPECT_EQ(bit->edge, 256);
  EXPECT_EQ(bit->width, 224);
  const auto deit =
      read(R"({"image_processor_type": "DeiTImageProcessor", "size": {"height": 256, "width": 256},
                             "do_center_crop": true, "crop_size": 224})");
  EXPECT_EQ(deit->resize_width, 256);
  EXPECT_EQ(deit->height, 224);
}

TEST(Processor, NumbersAreTorchvisions) {
  const auto p =
      read(R"({"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]})");
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p->table()[1][200], (200.0F / 255.0F - 0.456F) / 0.224F);
  EXPECT_EQ(read(R"({"do_normalize": false})")->table()[0][255], 1.0F);
  EXPECT_EQ(read(R"({"do_normalize": false, "do_rescale": false})")->table()[2][7], 7.0F);
}

TEST(Processor, RefusesWhatItDoesNotFollow) {
  for (const auto& [text, why] :
       {std::pair(R"({"image_processor_type": "CLIPImageProcessor"})", "CLIPImageProcessor"),
        {R"({"do_color_quantize": true})", "do_color_quantize"},
        {R"({"do_pad": true})", "do_pad"},
        {R"({"do_resize": false})", "do_resize"},
        {R"({"size": {"shortest_edge": 224, "longest_edge": 300}})", "shortest_edge"},
        {R"({"size": {"height": 0, "width": 4}})", "size"},
        {R"({"size": "large"})", "size"},
        {R"({"image_std": [1, 0, 1]})", "image_std"},
        {R"({"image_mean": [1, 2]})", "image_mean"},
        {R"({"rescale_factor": -1})", "rescale_factor"},
        {R"([1])", "object"}}) {
    const auto p = read(text);
    ASSERT_FALSE(p.ok()) << text;
    EXPECT_TRUE(p.error().is(err::kImageProcessor));
    EXPECT_THAT(p.error().what(), HasSubstr(why));
  }
  EXPECT_TRUE(read(R"({"do_pad": false, "do_flip_channel_order": null, "new_key": false})").ok());
}

TEST(Processor, NewOnesAreReadAgain) {
  for (const char* type : {"ViTImageProcessor", "ConvNextImageProcessor"}) {
    ImageProcessor made = make_processor(type, 32, true);
    EXPECT_EQ(made.width, 32);
    made.set_size(48);
    const auto again = read_processor(made.json, "p.json");
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->height, 48);
    EXPECT_EQ(again->edge, made.edge);
    EXPECT_EQ(again->mean[0], 0.485);
  }
}

}  // namespace
}  // namespace hone

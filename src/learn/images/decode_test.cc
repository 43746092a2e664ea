// Decoded files against Pillow's pixels.
#include "learn/images/decode.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "learn/images/encode.h"
#include "learn/images/errors.h"
#include "learn/images/golden_images_test.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Json decoded_files() { return image_golden("decode.json"); }

std::string bytes_of_file(const std::string& name) {
  for (const Json& c : decoded_files())
    if (c["name"] == name) return golden_bytes(c["file"]);
  ADD_FAILURE() << "no file " << name;
  return "";
}

TEST(Decode, EveryFileHasPillowsPixels) {
  for (const Json& c : decoded_files()) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const auto got = decode_image(golden_bytes(c["file"]));
    ASSERT_TRUE(got.ok()) << got.error().text();
    const Image wanted = image_of(golden_bytes(c["rgb"]), c["width"], c["height"]);
    EXPECT_LE(largest_difference(*got, wanted), 1);
  }
}

TEST(Decode, APartHasThePixelsOfTheWhole) {
  for (const Json& c : decoded_files()) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const std::string bytes = golden_bytes(c["file"]);
    const auto info = read_image_info(bytes);
    ASSERT_TRUE(info.ok());
    const auto whole = decode_image(bytes);
    ASSERT_TRUE(whole.ok());
    const int64_t w = info->width(), h = info->height();
    for (const Box box : {Box{0, 0, 1, 1}, Box{w - 1, h - 1, 1, 1}, Box{w / 3, h / 4, w / 2, h / 2},
                          Box{w / 2, 0, 1, h}}) {
      Image part, cut, wanted;
      DecodeMemory memory;
      const auto at = decode_part(bytes, *info, box, part, memory);
      ASSERT_TRUE(at.ok()) << at.error().text();
      copy_box(part, {box.x - at->x, box.y - at->y, box.width, box.height}, cut);
      copy_box(*whole, box, wanted);
      EXPECT_EQ(largest_difference(cut, wanted), 0);
    }
  }
}

TEST(Decode, AWrittenPngHasItsPixels) {
  Image image;
  image.resize(7, 3);
  for (size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<uint8_t>(i % 4 == 3 ? 255 : i * 11);
  const auto got = decode_image(encode_png(image));
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ(got->pixels, image.pixels);
}

// Photographs: each crop of a real JPEG is exact too.
TEST(Decode, PartsOfPhotographs) {
  const char* const data = std::getenv("HONE_DATA");
  const fs::path folder =
      fs::path(data ? data : HONE_SOURCE_DIR "/../shared/data") / "img-imagenet-sample";
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder;
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".JPEG" || ++files % 5 != 0) continue;
    SCOPED_TRACE(entry.path());
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    const std::string bytes = text.str();
    const auto info = read_image_info(bytes);
    ASSERT_TRUE(info.ok()) << info.error().text();
    const auto whole = decode_image(bytes);
    ASSERT_TRUE(whole.ok()) << whole.error().text();
    const Box box{info->width() / 3 + 1, info->height() / 3 + 1, info->width() / 2,
                  info->height() / 2};
    Image part, cut, wanted;
    DecodeMemory memory;
    const auto at = decode_part(bytes, *info, box, part, memory);
    ASSERT_TRUE(at.ok()) << at.error().text();
    EXPECT_LT(at->width, info->width());
    copy_box(part, {box.x - at->x, box.y - at->y, box.width, box.height}, cut);
    copy_box(*whole, box, wanted);
    EXPECT_EQ(largest_difference(cut, wanted), 0);
  }
  EXPECT_GT(files, 100);
}

TEST(Decode, OrientationCanBeIgnored) {
  const std::string bytes = bytes_of_file("jpeg_exif_6");
  EXPECT_EQ(read_image_info(bytes)->width(), 13);
  EXPECT_EQ(read_image_info(bytes, {.apply_orientation = false})->width(), 21);
}

TEST(Decode, TruncatedFilesAreNamed) {
  for (const char* name :
       {"jpeg_420", "jpeg_progressive", "png_rgb", "webp_lossy", "webp_animated"}) {
    SCOPED_TRACE(name);
    const std::string bytes = bytes_of_file(name);
    for (const size_t kept : {bytes.size() / 2, bytes.size() - 20}) {
      const auto got = decode_image(bytes.substr(0, kept));
      ASSERT_FALSE(got.ok());
      EXPECT_TRUE(got.error().is(err::kImageDamaged));
      EXPECT_THAT(got.error().what(), HasSubstr("truncated"));
    }
  }
}

// A crop of a truncated file fails too, also if its own rows are whole.
TEST(Decode, APartOfATruncatedFileIsRefused) {
  const std::string bytes = bytes_of_file("jpeg_420"), cut = bytes.substr(0, bytes.size() - 2);
  const auto info = read_image_info(cut);
  ASSERT_TRUE(info.ok());
  Image part;
  DecodeMemory memory;
  EXPECT_FALSE(decode_part(cut, *info, {0, 0, 2, 2}, part, memory).ok());
  // The end of a thumbnail in the header is not the end of the image.
  const std::string thumbnail = std::string("\xff\xe1\x00\x06", 4) + "ab\xff\xd9";
  const std::string with = bytes.substr(0, 2) + thumbnail + bytes.substr(2);
  EXPECT_TRUE(decode_part(with, *info, {0, 0, 2, 2}, part, memory).ok());
  EXPECT_FALSE(
      decode_part(with.substr(0, with.size() - 2), *info, {0, 0, 2, 2}, part, memory).ok());
}

TEST(Decode, RefusesOtherFormatsAndDamage) {
  EXPECT_TRUE(decode_image("").error().is(err::kImageFormat));
  EXPECT_TRUE(decode_image("GIF89a").error().is(err::kImageFormat));
  std::string png = bytes_of_file("png_rgb");
  png[20] = 'x';  // a size whose checksum is wrong
  EXPECT_TRUE(decode_image(png).error().is(err::kImageDamaged));
}

// 60,000 x 60,000 pixels in a file of some bytes: nothing is allocated for them.
TEST(Decode, RefusesBombsByTheirHeader) {
  std::string jpeg = bytes_of_file("jpeg_420");
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xea\x60\xea\x60");
  const auto got = decode_image(jpeg);
  ASSERT_FALSE(got.ok());
  EXPECT_TRUE(got.error().is(err::kImageLimit));
  EXPECT_THAT(got.error().what(), HasSubstr("60000 x 60000"));
  EXPECT_TRUE(
      decode_image(bytes_of_file("png_rgb"), {.most_pixels = 100}).error().is(err::kImageLimit));
}

}  // namespace
}  // namespace hone

#include "learn/tasks/sample_images.h"

#include <fmt/format.h>

#include <cstdlib>

#include "learn/images/encode.h"

namespace hone {
namespace {

constexpr int kSide = 32, kTrainPictures = 48, kAllPictures = 60;

// Picture i: a light shape on a dark ground, each at another place.
Image sample_picture(int i, bool disc) {
  Image image;
  image.resize(kSide, kSide);
  const int radius = 5 + i % 5, x0 = 10 + i * 7 % 12, y0 = 10 + i * 5 % 12;
  const int ground = i * 13 % 90, light = 150 + i * 17 % 100;
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      const int dx = std::abs(x - x0), dy = std::abs(y - y0);
      const bool inside =
          disc ? dx * dx + dy * dy <= radius * radius : dx <= radius && dy <= radius;
      uint8_t* pixel = image.row(y) + 4 * x;
      for (int c = 0; c < 3; ++c)
        pixel[c] = static_cast<uint8_t>(inside ? light - 20 * c : ground + 10 * c);
      pixel[3] = 255;
    }
  return image;
}

}  // namespace

std::map<std::string, std::string> sample_images() {
  std::map<std::string, std::string> files;
  for (int i = 0; i < kAllPictures; ++i) {
    const bool disc = i % 2 == 0;
    files[fmt::format("{}/{}/{}.png", i < kTrainPictures ? "train" : "validation",
                      disc ? "disc" : "square", i)] = encode_png(sample_picture(i, disc));
  }
  return files;
}

}  // namespace hone

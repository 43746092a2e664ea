// Changed colours and shapes against torchvision's functions on images of Pillow.
#include "learn/images/image_ops.h"

#include "learn/images/golden_images_test.h"

namespace hone {
namespace {

void apply(const std::string& op, double value, Image& image) {
  Image memory;
  const double x = static_cast<double>(image.width) / 2, y = static_cast<double>(image.height) / 2;
  if (op == "brightness") return change_brightness(image, value);
  if (op == "contrast") return change_contrast(image, value);
  if (op == "saturation") return change_saturation(image, value);
  if (op == "sharpness") return change_sharpness(image, value, memory);
  if (op == "hue") return change_hue(image, value);
  if (op == "posterize") return posterize(image, static_cast<int>(value));
  if (op == "solarize") return solarize(image, static_cast<int>(value));
  if (op == "autocontrast") return autocontrast(image);
  if (op == "equalize") return equalize(image);
  if (op == "rotate") return transform(image, affine_map(-value, 0, 0, 0, 0, x, y), memory);
  if (op == "shear_x") return transform(image, affine_map(0, 0, 0, value, 0, 0, 0), memory);
  if (op == "shear_y") return transform(image, affine_map(0, 0, 0, 0, value, 0, 0), memory);
  if (op == "translate_x") return transform(image, affine_map(0, value, 0, 0, 0, x, y), memory);
  if (op == "translate_y") return transform(image, affine_map(0, 0, value, 0, 0, x, y), memory);
  FAIL() << op;
}

TEST(ImageOps, HaveTorchvisionsPixels) {
  const Json golden = image_golden("change.json");
  for (const Json& c : golden["cases"]) {
    const std::string op = c["op"];
    SCOPED_TRACE(fmt::format("{} {}", op, c["value"].get<double>()));
    Image image = image_of(golden_bytes(golden["rgb"]), golden["width"], golden["height"]);
    apply(op, c["value"], image);
    EXPECT_LE(
        largest_difference(image, image_of(golden_bytes(c["rgb"]), image.width, image.height)), 1);
  }
}

}  // namespace
}  // namespace hone

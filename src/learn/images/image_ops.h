// Changes of an image's colours and shape with Pillow's numbers (ImageEnhance, ImageOps, Image.transform), as
// torchvision's transforms apply them to images of Pillow. Each works in place.
#pragma once

#include <array>

#include "learn/images/image.h"

namespace hone {

// The grey of a pixel, as Pillow's convert("L") rounds it (ITU-R 601-2).
inline uint8_t grey_of(const uint8_t* p) {
  return static_cast<uint8_t>((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16);
}

// Blends with another image by a factor: 0 gives the other one, 1 the image, above 1 the opposite direction.
void change_brightness(Image& image, double factor);                // black
void change_contrast(Image& image, double factor);                  // its mean grey
void change_saturation(Image& image, double factor);                // its greys
void change_sharpness(Image& image, double factor, Image& memory);  // the image smoothed by 3 x 3
// Turns the hue by a share of the circle, -0.5 to 0.5.
void change_hue(Image& image, double share);

void posterize(Image& image, int bits);      // keeps the upper bits of each value
void solarize(Image& image, int threshold);  // inverts values from the threshold on
void autocontrast(Image& image);             // stretches each channel to 0 ... 255
void equalize(Image& image);                 // evens each channel's histogram

// Output pixel (x, y) is the input pixel at (a x + b y + c, d x + e y + f), x and y at the middle of the pixel;
// the nearest one, black outside.
using AffineMap = std::array<double, 6>;
void transform(Image& image, const AffineMap& map, Image& memory);
// The map of torchvision's affine() by angle in degrees, translation in pixels and shear in degrees, around `center`
// from the image's middle.
AffineMap affine_map(double angle, double translate_x, double translate_y, double shear_x,
                     double shear_y, double center_x, double center_y);

}  // namespace hone

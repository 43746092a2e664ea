// Operations on the colours and the shape of an image, in place. The results equal those of Pillow (ImageEnhance,
// ImageOps, Image.transform), which torchvision's transforms use for Pillow images. `memory` is scratch memory.
#pragma once

#include <array>

#include "learn/images/image.h"

namespace hone {

// The grey value of a pixel (ITU-R 601-2), rounded as Pillow's convert("L") does.
inline uint8_t grey_of(const uint8_t* p) {
  return static_cast<uint8_t>((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16);
}

// Blend the image with a reference image: result = reference + factor * (image - reference). Factor 0 gives the
// reference, factor 1 the unchanged image; a factor above 1 moves the image away from the reference. The comment after
// each function names its reference.
void change_brightness(Image& image, double factor);  // a black image
void change_contrast(Image& image, double factor);    // its mean grey value
void change_saturation(Image& image, double factor);  // the image in grey
// The image, smoothed by a 3 x 3 filter.
void change_sharpness(Image& image, double factor, Image& memory);
// Shifts the hue by the fraction `share` of a full turn of the colour circle, -0.5 to 0.5.
void change_hue(Image& image, double share);

void posterize(Image& image, int bits);      // keeps the upper `bits` bits of each value
void solarize(Image& image, int threshold);  // inverts values that are at least the threshold
void autocontrast(Image& image);             // scales each channel to the range 0 to 255
void equalize(Image& image);                 // equalizes the histogram of each channel

// An affine map {a, b, c, d, e, f}. transform() sets each output pixel to the input pixel nearest to the point
// (a x + b y + c, d x + e y + f), where (x, y) is the middle of the output pixel. If this point is outside the image,
// the output pixel is black.
using AffineMap = std::array<double, 6>;
void transform(Image& image, const AffineMap& map, Image& memory);
// The map of torchvision's affine(): rotates and shears the image around the point (center_x, center_y), and moves it.
// `angle` and shear are in degrees, the center and the translation in pixels.
AffineMap affine_map(double angle, double translate_x, double translate_y, double shear_x,
                     double shear_y, double center_x, double center_y);

}  // namespace hone

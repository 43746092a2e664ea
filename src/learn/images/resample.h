// Resizes images with the same result as Pillow (Image.resize with antialias; src/libImaging/Resample.c). Each output
// pixel is a weighted mean of the input pixels within the support of the filter. If the image becomes smaller, the
// support grows by the ratio of the input size to the output size. Rows and columns are resized in two passes, in the
// order that Pillow 13 chooses by the sizes. Weights are integers with 22 fractional bits, and values are rounded to 8
// bits after each pass.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"
#include "learn/images/image.h"

namespace hone {

enum class Filter { box, bilinear, hamming, bicubic, lanczos };
std::string name_of(Filter filter);
std::vector<std::string> filter_names();    // "box", "bilinear", ...
Filter filter_of(const std::string& name);  // `name` must be one of filter_names()

// A resize of a whole image, of which only the part `window` of the result is computed.
struct Resize {
  int64_t in_width = 0, in_height = 0, out_width = 0, out_height = 0;
  Box window;  // the part of the output to compute
  Filter filter = Filter::bilinear;
};

// The part of the input that resize.window depends on.
Box input_box(const Resize& resize);

// Scratch memory. Use it again for later calls, but only by one thread at a time.
struct ResampleMemory {
  struct Weights {
    // For each output pixel: the first of its input pixels, and their number.
    std::vector<int32_t> first, count;
    std::vector<int32_t> weights;  // [output pixels, most]: weights of the input pixels
    int64_t most = 0;              // the largest count
  };
  Weights across, down;
  Image rows;
};

// Computes resize.window and writes it to `to`. `part` has the pixels of the input in the box `at`, which must contain
// input_box(resize).
void resample(const Image& part, const Box& at, const Resize& resize, Image& to,
              ResampleMemory& memory);

}  // namespace hone

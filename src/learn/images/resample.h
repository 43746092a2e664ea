// Resizes images as Pillow does (Image.resize with antialias; src/libImaging/Resample.c): each output
// pixel is a weighted mean of the input pixels within the filter's support, which grows with the scale.
// Weights are integers of 22 bits, and a value is rounded to 8 bits after rows and after columns, of
// which Pillow 13 chooses the order by the sizes. The pixels equal Pillow's.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"
#include "learn/images/image.h"

namespace hone {

enum class Filter { box, bilinear, hamming, bicubic, lanczos };
std::string name_of(Filter filter);
std::vector<std::string> filter_names();    // "box", "bilinear", ...
Filter filter_of(const std::string& name);  // one of filter_names()

// A resize, of which only a part of the result may be needed.
struct Resize {
  int64_t in_width = 0, in_height = 0, out_width = 0, out_height = 0;
  Box window;  // of the output
  Filter filter = Filter::bilinear;
};

// The part of the input that the window depends on.
Box input_box(const Resize& resize);

// Memory that calls reuse.
struct ResampleMemory {
  struct Weights {
    std::vector<int32_t> first, count;  // of each output pixel
    std::vector<int32_t> weights;       // [output, most]
    int64_t most = 0;
  };
  Weights across, down;
  Image rows;
};

// `part` holds the pixels `at` of the input, at least input_box(resize). `to` becomes the window.
void resample(const Image& part, const Box& at, const Resize& resize, Image& to,
              ResampleMemory& memory);

}  // namespace hone

// The argument `Conv` for kernels over windows of images: pools, and convolutions.
#pragma once

#include "engine/backends/cuda/kernels/arguments.h"
#include "engine/ops/image_parts.h"

namespace hone::cuda {

// Returns the argument `Conv` for these windows. groups, inner, columns, back, round, bias and result are not set.
// to_channels is the number of channels of the images that are read. All dimensions must fit into 32 bits.
inline Conv windows_of(const WindowDims& d) {
  const auto i = [](int64_t v) { return static_cast<int>(v); };
  Conv c{};
  c.images = i(d.images);
  c.from_h = i(d.height);
  c.from_w = i(d.width);
  c.from_channels = c.to_channels = i(d.channels);
  c.to_h = i(d.out_h);
  c.to_w = i(d.out_w);
  c.kernel_h = i(d.kernel_h);
  c.kernel_w = i(d.kernel_w);
  c.stride_h = i(d.stride_h);
  c.stride_w = i(d.stride_w);
  c.top = i(d.top);
  c.left = i(d.left);
  c.dilation_h = i(d.dilation_h);
  c.dilation_w = i(d.dilation_w);
  return c;
}

}  // namespace hone::cuda

// The windows of Swin transformers (Liu et al. 2021, arXiv 2103.14030, section 3.2): which tokens of an image are in
// which window, also if the windows are shifted; the bias of attention by relative position; and the mask between
// tokens that only a shift has brought together in a window.
//
// Letters: B images of R rows and W columns of tokens, T = B R W; M tokens of a window; N windows of an image.
#pragma once

#include "engine/ops/ops.h"

namespace hone {

struct WindowGrid {
  int64_t images = 0, rows = 0, columns = 0;  // number of images; rows and columns of tokens
  int64_t height = 1, width = 1;              // of a window, in tokens
  int64_t shift_rows = 0, shift_columns = 0;  // of the windows, down and to the right, in tokens
  // The image is padded at the bottom and at the right until it consists of whole windows. true: before the shift, as
  // in Transformers; false: after the shift, as in timm.
  bool fills_first = true;

  int64_t down() const { return (rows + height - 1) / height; }     // windows in a column
  int64_t across() const { return (columns + width - 1) / width; }  // windows in a row
  int64_t windows() const { return down() * across(); }             // N
  int64_t places() const { return height * width; }                 // M
  bool is_shifted() const { return shift_rows > 0 || shift_columns > 0; }
};

// The index (0 to T - 1) of the token at each place of each window, window after window, i32[B*N*M]; -1: padding.
ValueId window_tokens(Builder& b, const WindowGrid& grid);
// For each pair of places of a window, the row of their relative position in the table of biases
// [(2 height - 1)*(2 width - 1), heads], i32[M*M].
ValueId relative_rows(Builder& b, int64_t height, int64_t width);
// For each pair of places of a window, f32[N,M,M]: -100 if the two are from different parts of the image that the
// shift has brought together, else 0. It is added to attention scores.
ValueId window_mask(Builder& b, const WindowGrid& grid);
// The indices of the four tokens that are merged into one, i32[B*ceil(R/2)*ceil(W/2)*4]. Order of the four: upper
// left, lower left, upper right, lower right; -1: padding.
ValueId merged_tokens(Builder& b, int64_t images, int64_t rows, int64_t columns);

}  // namespace hone

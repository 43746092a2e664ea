// Windows of Swin (Liu et al. 2021, arXiv 2103.14030, section 3.2): the places of an image's tokens in windows that may
// be shifted, the bias of attention by relative position, and the mask between parts that a shift brings together.
//
// Letters: B images of R rows and W columns of tokens, T = B R W; M tokens of a window; N windows of an image.
#pragma once

#include "engine/ops/ops.h"

namespace hone {

struct WindowGrid {
  int64_t images = 0, rows = 0, columns = 0;  // of tokens
  int64_t height = 1, width = 1;              // of a window
  int64_t shift_rows = 0, shift_columns = 0;  // of the windows, to the bottom and to the right
  // The image is filled up to whole windows at the bottom and to the right: before the shift, as Transformers
  // does, or after it, as timm does.
  bool fills_first = true;

  int64_t down() const { return (rows + height - 1) / height; }
  int64_t across() const { return (columns + width - 1) / width; }
  int64_t windows() const { return down() * across(); }  // N
  int64_t places() const { return height * width; }      // M
  bool is_shifted() const { return shift_rows > 0 || shift_columns > 0; }
};

// The token at each place of each window, i32[B N M], in the order of windows; -1: there is none.
ValueId window_tokens(Builder& b, const WindowGrid& grid);
// The row of a relative position, i32[M M], in a table [(2 height - 1) (2 width - 1), heads].
ValueId relative_rows(Builder& b, int64_t height, int64_t width);
// f32[N,M,M]: -100 between places that were not neighbours before the shift, else 0.
ValueId window_mask(Builder& b, const WindowGrid& grid);
// The four tokens that become one, i32[B ceil(R/2) ceil(W/2) 4]: down first, then to the right; -1: there is none.
ValueId merged_tokens(Builder& b, int64_t images, int64_t rows, int64_t columns);

}  // namespace hone

// Kernels over images [B,H,W,C] and over the columns of matrices [rows, C], in f32, without gaps between rows. Sums
// over rows are made in parts whose number depends on the shape alone, and the parts are added in order, so the bits do
// not depend on the number of threads.
#pragma once

#include <cstdint>

#include "base/core/threads.h"

namespace hone::cpu {

// y = (x - mean) / sqrt(variance + eps) * gamma + beta (+ residual). mean and variance are those of each column over
// the first `counted` rows; the variance is the biased one.
struct BatchNorm {
  int64_t rows = 0, counted = 0, columns = 0;
  float eps = 1e-5f;
  const float* x = nullptr;
  const float* gamma = nullptr;     // [columns]
  const float* beta = nullptr;      // [columns]
  const float* residual = nullptr;  // [rows, columns] or null
  bool relu = false;                // negative y become 0
  bool given = false;               // true: mean and variance are inputs; false: results
  float* y = nullptr;         // may be x or residual; null: only mean and variance are computed
  float* mean = nullptr;      // [columns]
  float* variance = nullptr;  // [columns]
};
int64_t batch_norm_workspace_bytes(int64_t rows, int64_t columns);
void batch_norm(const BatchNorm& n, void* workspace, ThreadPool& pool);

struct BatchNormBackward {
  int64_t rows = 0, counted = 0, columns = 0;
  float eps = 1e-5f;
  const float* x = nullptr;
  const float* gamma = nullptr;
  const float* mean = nullptr;
  const float* variance = nullptr;
  const float* dy = nullptr;
  // The result of a batch norm with relu: dy is taken as 0 where y is 0. Null: there was no relu.
  const float* y = nullptr;
  float* dresidual = nullptr;  // receives dy, but 0 where y is 0; or null
  float* dx = nullptr;         // may be dy; 0 after the first `counted` rows; null: not computed
  float* dgamma = nullptr;     // [columns]
  float* dbeta = nullptr;      // [columns]
  // false: dgamma and dbeta are results. true: they are inputs, the sums over all_rows rows, such as the rows of all
  // ranks. mean and variance must then be those of the same rows.
  bool given = false;
  float all_rows = 0;
};
int64_t batch_norm_backward_workspace_bytes(int64_t rows, int64_t columns);
void batch_norm_backward(const BatchNormBackward& n, void* workspace, ThreadPool& pool);

// y[i,j] = x[i,j] * scale[j] + shift[j]. shift null: zeros. y may be x.
void affine_columns(int64_t rows, int64_t columns, const float* x, const float* scale,
                    const float* shift, float* y, ThreadPool& pool);
// y[b,i] = x[b,i] * scale[b], with x and y [blocks, size]. A scale of 0 gives 0 for any x, also for inf. y may be x.
void scale_blocks(int64_t blocks, int64_t size, const float* x, const float* scale, float* y,
                  ThreadPool& pool);

// Windows over images [images, height, width, channels]. There are [out_h, out_w] windows for each image. Window (i, j)
// begins at pixel (i * stride_h - top, j * stride_w - left); pixels outside of the image are skipped.
struct Windows2d {
  int64_t images = 0, height = 0, width = 0, channels = 0, out_h = 0, out_w = 0;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, top = 0, left = 0, dilation_h = 1,
          dilation_w = 1;
};
// y [images, out_h, out_w, channels] = the largest element of each window.
void max_pool(const Windows2d& p, const float* x, float* y, ThreadPool& pool);
// dx is overwritten: the dy of each window is added to the first element of the window that equals y.
void max_pool_backward(const Windows2d& p, const float* x, const float* y, const float* dy,
                       float* dx, ThreadPool& pool);

// Depthwise convolution: each channel has a filter of its own. w [kernel_h * kernel_w, channels], bias [channels] or
// null.
void channel_conv(const Windows2d& p, const float* x, const float* w, const float* bias, float* y,
                  ThreadPool& pool);
// The gradient of the images. onto: true adds it to dx, false overwrites dx.
void channel_conv_input_gradient(const Windows2d& p, const float* dy, const float* w, bool onto,
                                 float* dx, ThreadPool& pool);
// The gradient of the filters; dw has the shape of w and is overwritten. It is summed within each image, then over the
// images in order.
int64_t channel_conv_workspace_bytes(const Windows2d& p);
void channel_conv_weight_gradient(const Windows2d& p, const float* dy, const float* x, float* dw,
                                  void* workspace, ThreadPool& pool);

}  // namespace hone::cpu

// Kernels over images [B,H,W,C] and over the columns of [rows, C] matrices, in f32, dense. Sums over rows are made in
// leaves whose number depends on the shape alone, and the leaves in their order: the same bits for every number of
// threads.
#pragma once

#include <cstdint>

#include "base/core/threads.h"

namespace hone::cpu {

// y = (x - mean) / sqrt(variance + eps) * gamma + beta (+ residual) with the statistics of the columns over the first
// `counted` rows; biased variance. With relu negative y become 0.
struct BatchNorm {
  int64_t rows = 0, counted = 0, columns = 0;
  float eps = 1e-5f;
  const float* x = nullptr;
  const float* gamma = nullptr;     // [columns]
  const float* beta = nullptr;      // [columns]
  const float* residual = nullptr;  // or none
  bool relu = false;
  bool given = false;         // mean and variance are there, of more rows
  float* y = nullptr;         // may be x or residual; none: statistics alone
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
  const float* y = nullptr;    // of a batch norm with relu: dy counts as 0 where y is 0; or none
  float* dresidual = nullptr;  // the dy that counts; or none
  float* dx = nullptr;      // may be dy; 0 in rows that do not count; none: dgamma and dbeta alone
  float* dgamma = nullptr;  // [columns]
  float* dbeta = nullptr;   // [columns]
  bool given = false;  // dgamma and dbeta are there, of `all_rows`, which mean and variance are of
  float all_rows = 0;
};
int64_t batch_norm_backward_workspace_bytes(int64_t rows, int64_t columns);
void batch_norm_backward(const BatchNormBackward& n, void* workspace, ThreadPool& pool);

// y = x * scale + shift by column; shift none = 0; y may be x.
void affine_columns(int64_t rows, int64_t columns, const float* x, const float* scale,
                    const float* shift, float* y, ThreadPool& pool);
// y = x * scale[block], for `blocks` blocks of `size` elements; y may be x.
void scale_blocks(int64_t blocks, int64_t size, const float* x, const float* scale, float* y,
                  ThreadPool& pool);

// Windows over images.
struct Windows2d {
  int64_t images = 0, height = 0, width = 0, channels = 0, out_h = 0, out_w = 0;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, top = 0, left = 0, dilation_h = 1,
          dilation_w = 1;
};
void max_pool(const Windows2d& p, const float* x, float* y, ThreadPool& pool);
// dx gets dy at the first element of a window that equals y.
void max_pool_backward(const Windows2d& p, const float* x, const float* y, const float* dy,
                       float* dx, ThreadPool& pool);

// Convolutions of each channel by itself: `w` [kernel_h kernel_w, channels], bias [channels] or none.
void channel_conv(const Windows2d& p, const float* x, const float* w, const float* bias, float* y,
                  ThreadPool& pool);
// onto: is added to dx.
void channel_conv_input_gradient(const Windows2d& p, const float* dy, const float* w, bool onto,
                                 float* dx, ThreadPool& pool);
// dw of w's shape; sums over an image, and images in their order.
int64_t channel_conv_workspace_bytes(const Windows2d& p);
void channel_conv_weight_gradient(const Windows2d& p, const float* dy, const float* x, float* dw,
                                  void* workspace, ThreadPool& pool);

}  // namespace hone::cpu

// C[m,n] (=|+=) op(A)[m,k] op(B)[k,n] in f32 with a fused epilogue.
//
//   t = (accumulate ? C : 0) + op(A) op(B) + bias;  pre = t;  C = act(t) + residual
//
// All matrices are row-major with leading dimensions in elements. Results do not depend on the
// number of threads. B may be packed beforehand (a weight that serves many calls).
//   B in bf16, f16 or i8   B is widened to f32 in registers, while it is packed or, with few rows,
//                     streamed. i8 has a scale for each column of op(B); A is not transposed, and each
//                     of its rows is rounded to 15 bits, with a scale for each block of k: by at most
//                     3e-5 of the largest element there (gemm_i8.simd.h).
//   B in blocks       of elements that share a scale, in either orientation: widened while it is
//                     packed, some elements at a time (widen.simd.h); with few rows and trans_b,
//                     blocks of GGUF files are widened in registers (gemm_block_dots.simd.h)
//   AMX, f32          kGemmSplitRows rows and more run on parts in bf16, as exact as multiply-adds
//                     in f32 (gemm_bf16.simd.h). There an operand that is not finite or is above
//                     3.38e38 makes NaN, and parts below 1.2e-38 count as zero.
//   `bf16`, `f16`     both operands (f32 or already of that type, not packed) are rounded to the
//                     nearest bf16 or f16; sums stay f32. bf16 is much faster with AMX, about twice
//                     as fast with AVX512_BF16, else slower; f16 is as fast as f32.
//   few rows          m <= kGemmSmallRows streams B once at memory speed (decoding); with trans_b,
//                     up to kGemmFewRows rows multiply the unpacked B with the bits of the tiles.
//                     A packed B serves any m.
#pragma once

#include <cstdint>

#include "base/core/threads.h"
#include "engine/backends/cpu/isa/element.h"

namespace hone::cpu {

// A matrix [rows, columns] whose elements are in few bits (engine/ops/block_schemes.h).
struct Blocks {
  enum class Kind : int {
    code4,  // two codes a byte, the first in the high half; one scale for `scaled` elements
    i8,     // i8 over 127, one scale a row
    q4_0,  // and the blocks of GGUF files, with their scales inside; of the fields below, columns alone
    q4_1,
    q5_0,
    q5_1,
    q8_0,
    q2_k,
    q3_k,
    q4_k,
    q5_k,
    q6_k,
    mxfp4,
    f16,
    bf16,
  } kind = Kind::code4;
  int64_t columns = 0;
  int64_t scaled = 0;
  const float* code = nullptr;             // [16]
  const float* scales = nullptr;           // or of the narrow scales, one for `nested` of them:
  const uint8_t* narrow_scales = nullptr;  // dynamic[narrow] * scale + offset
  const float* dynamic = nullptr;          // [256]
  const float* offset = nullptr;
  int64_t nested = 0;
};
// Windows of images [B,H,W,C] as the matrix [B out_h out_w, kernel_h kernel_w channels]: element
// ((b,i,j), (r,s,c)) is pixel (i stride_h - top + r dilation_h, j stride_w - left + s dilation_w) of
// image b, channel c; 0 outside the image. top and left may be negative.
struct Patches {
  int64_t height = 0, width = 0;
  int64_t pixel = 0;     // elements from a pixel to the next one
  int64_t channels = 0;  // of each pixel, from the first on
  int64_t out_h = 0, out_w = 0, kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1, top = 0, left = 0, dilation_h = 1, dilation_w = 1;
  int64_t columns() const { return kernel_h * kernel_w * channels; }
};
enum class Activation : int { none, gelu_tanh, gelu_erf, relu, silu };

struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;  // [m,k], or [k,m] when trans_a, of a_type
  int64_t lda = 0;
  bool trans_a = false;
  Element a_type = Element::f32;  // bf16 with `bf16`, f16 with `f16`
  // A is these windows of the images at `a`, in f32; lda is ignored. The matrix is never made: its parts
  // are read while they are packed.
  const Patches* patches = nullptr;
  // B is these windows of the images at `b`, in f32, for gemm_columns alone; ldb is ignored, trans_b is false.
  const Patches* b_patches = nullptr;
  const void* b = nullptr;  // [k,n], or [n,k] when trans_b, of b_type
  int64_t ldb = 0;
  bool trans_b = false;
  Element b_type = Element::f32;
  const Blocks* blocks = nullptr;   // for blocks: b is their payload, ldb is ignored
  const float* b_scale = nullptr;   // [n], for i8: column j of op(B) is multiplied by b_scale[j]
  const float* packed_b = nullptr;  // from pack_b; b, ldb and trans_b are then ignored
  float* c = nullptr;               // [m,n]
  int64_t ldc = 0;
  bool accumulate = false;
  bool bf16 = false, f16 = false;
  // Above 0: products of few and of many rows take the path of this number of rows, so that the bits of a row
  // do not depend on m.
  int64_t rows_like = 0;

  const float* bias = nullptr;  // [n] or none
  Activation act = Activation::none;
  float* pre = nullptr;  // [m,n] the value before the activation, or none
  int64_t ldpre = 0;
  const float* residual = nullptr;  // [m,n] or none; may be c itself
  int64_t ldresidual = 0;
};

constexpr int64_t kGemmSmallRows = 16;
constexpr int64_t kGemmFewRows = 64;
constexpr int64_t kGemmSplitRows = 64;
// A sum over k is made of blocks, one after the other: equal parts of k of at most this. Another
// value gives other bits, so it is part of the kernel's id.
constexpr int64_t kGemmBlockK = 1024;
constexpr int64_t kGemmBf16BlockK = 2048;

// Bytes that gemm() needs, for these sizes, flags and threads (pointers are not looked at, except
// whether packed_b is null). Workspaces must be 64-byte aligned.
int64_t gemm_workspace_bytes(const Gemm& g, int threads);
// Options that decide the bits of a product, besides its sizes and the instruction set.
struct GemmSums {
  const char* parts;  // the type that operands are rounded to or split into; "": neither
  int64_t block_k;
};
GemmSums gemm_sums(const Gemm& g);
void gemm(const Gemm& g, void* workspace, ThreadPool& pool);

// Columns [begin, end) of a product with trans_a whose B is not packed or in blocks, by the calling thread alone, with
// the bits of gemm(). Each part of B is packed once for kGemmColumnsRows rows of the result: for few rows and
// many columns.
constexpr int64_t kGemmColumnsRows = 512;
int64_t gemm_columns_workspace_bytes(const Gemm& g);
void gemm_columns(const Gemm& g, int64_t begin, int64_t end, void* workspace);

// The packed copy depends on the instruction set in use; its size does not. 64-byte aligned.
int64_t pack_b_bytes(int64_t k, int64_t n);
void pack_b(int64_t k, int64_t n, const float* b, int64_t ldb, bool trans_b, float* packed,
            ThreadPool& pool);

// The whole matrix [rows, b.columns] in f32.
void widen_blocks(const Blocks& b, const void* payload, int64_t rows, float* out, ThreadPool& pool);
// Columns [column, column + columns) of rows [row, row + rows) of it -> [rows, columns], by the calling thread
// alone. `column` is even.
void widen_part(const Blocks& b, const void* payload, int64_t row, int64_t rows, int64_t column,
                int64_t columns, float* out);
// Rows ids[0..count) of it -> [count, b.columns]; zeros for an id outside.
void widen_rows(const Blocks& b, const void* payload, int64_t rows, const int32_t* ids,
                int64_t count, float* out, ThreadPool& pool);

}  // namespace hone::cpu

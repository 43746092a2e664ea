// The matrix product of the CPU, C[m,n] (=|+=) op(A)[m,k] op(B)[k,n] in f32, with a fused epilogue:
//
//   t = (accumulate ? C : 0) + op(A) op(B) + bias;  pre = t;  C = act(t) + residual
//
// All matrices are row-major; leading dimensions are in elements. op() is a transposition if trans_a or
// trans_b is set. Results do not depend on the number of threads. A matrix B that many calls use can be
// packed beforehand (pack_b).
//   B in bf16 or f16  B is converted to f32 in registers.
//   B in i8           B is converted to f32 in registers, and b_scale has a scale for each column of op(B). A must
//                     not be transposed. Each row of A is rounded to 15 bits, with a scale for each block of k
//                     (kGemmBlockK). The error of an element of A is at most 3e-5 times the largest element of
//                     its block (gemm_i8.simd.h).
//   B in blocks       B is quantized; elements of a block share a scale. B is dequantized while it is packed, some
//                     elements at a time (widen.simd.h); with few rows and trans_b, the blocks of GGUF
//                     files are dequantized in registers (gemm_block_dots.simd.h).
//   f32 with AMX      With kGemmSplitRows rows and more, f32 numbers are split into three parts in bf16; the
//                     product is as exact as multiply-adds in f32 (gemm_bf16.simd.h). An operand that is
//                     not finite or is above 3.38e38 gives NaN in the sums that use it, and parts below 1.2e-38
//                     count as zero.
//   `bf16`, `f16`     Both operands are rounded to the nearest bf16 or f16; sums stay in f32. The operands are
//                     f32 or already of that type, and B is not packed. Compared with f32, bf16 is much
//                     faster with AMX, about twice as fast with AVX512_BF16, and slower otherwise; f16 is
//                     as fast as f32.
//   few rows          A product with m <= kGemmSmallRows reads B once, at the memory's speed (decoding). With
//                     trans_b and m <= kGemmFewRows it reads B without packing it, with the same bits as
//                     a product of more rows. A packed B can be used with any m.
#pragma once

#include <cstdint>

#include "base/core/threads.h"
#include "engine/backends/cpu/isa/element.h"

namespace hone::cpu {

// The format of a quantized matrix [rows, columns] (engine/ops/block_schemes.h).
struct Blocks {
  enum class Kind : int {
    code4,  // 4-bit codes, two a byte, the first in the high half; one scale for `scaled` elements
    i8,     // x = i8 / 127 * scale, one scale for each row
    // The formats of GGUF files, whose blocks contain their scales. They use only the member `columns`.
    q4_0,
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
  int64_t scaled = 0;           // code4: elements that share a scale
  const float* code = nullptr;  // code4: [16], the value of each code
  // One scale for each group of elements; if narrow_scales is set, one for each `nested` of those scales.
  const float* scales = nullptr;
  // Null, or quantized scales, one for each group of elements: scale i is
  // dynamic[narrow_scales[i]] * scales[i / nested] + *offset.
  const uint8_t* narrow_scales = nullptr;
  const float* dynamic = nullptr;  // [256]
  const float* offset = nullptr;
  int64_t nested = 0;
};
// The windows of images [B,H,W,C] as a matrix [B * out_h * out_w, kernel_h * kernel_w * channels] (im2col). Element
// ((b,i,j), (r,s,c)) is channel c of pixel (i * stride_h - top + r * dilation_h, j * stride_w - left + s * dilation_w)
// of image b; 0 outside of the image. top and left may be negative.
struct Patches {
  int64_t height = 0, width = 0;
  int64_t pixel = 0;     // elements from a pixel to the next; may be more than `channels`
  int64_t channels = 0;  // number of channels of each pixel that are used: the first ones
  int64_t out_h = 0, out_w = 0, kernel_h = 1, kernel_w = 1;
  int64_t stride_h = 1, stride_w = 1, top = 0, left = 0, dilation_h = 1, dilation_w = 1;
  int64_t columns() const { return kernel_h * kernel_w * channels; }
};
enum class Activation : int { none, gelu_tanh, gelu_erf, relu, silu };

struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;  // [m,k], or [k,m] with trans_a, of a_type
  int64_t lda = 0;
  bool trans_a = false;
  Element a_type = Element::f32;  // f32; or bf16 if `bf16` is set, f16 if `f16` is set
  // Not null: A is the matrix of these windows of the f32 images at `a`, and lda is ignored. The whole matrix is never
  // in memory; its parts are gathered while they are packed.
  const Patches* patches = nullptr;
  // Not null: B is the matrix of these windows of the f32 images at `b`; ldb is ignored, trans_b is false. Only for
  // gemm_columns().
  const Patches* b_patches = nullptr;
  const void* b = nullptr;  // [k,n], or [n,k] with trans_b, of b_type
  int64_t ldb = 0;
  bool trans_b = false;
  Element b_type = Element::f32;
  // The format if b_type is blocks: `b` is then the payload, and ldb is ignored.
  const Blocks* blocks = nullptr;
  // [n] if b_type is i8: column j of op(B) is multiplied by b_scale[j].
  const float* b_scale = nullptr;
  const float* packed_b = nullptr;  // from pack_b(); b, ldb and trans_b are then ignored
  float* c = nullptr;               // [m,n]
  int64_t ldc = 0;
  bool accumulate = false;
  bool bf16 = false, f16 = false;  // round the operands to this type
  // Above 0: choose the algorithm for this number of rows instead of m. The bits of a row then do not depend on m.
  int64_t rows_like = 0;

  const float* bias = nullptr;  // [n] or null
  Activation act = Activation::none;
  float* pre = nullptr;  // [m,n], receives the value before the activation; or null
  int64_t ldpre = 0;
  const float* residual = nullptr;  // [m,n] or null; may be c itself
  int64_t ldresidual = 0;
};

// Limits of m, explained at the top of this file.
constexpr int64_t kGemmSmallRows = 16;
constexpr int64_t kGemmFewRows = 64;
constexpr int64_t kGemmSplitRows = 64;
// A sum over k is made in blocks, one after the other. The blocks are equal parts of k with at most this number of
// elements (kGemmBf16BlockK if `bf16` is set). The value decides the bits, so it is part of the kernel's id.
constexpr int64_t kGemmBlockK = 1024;
constexpr int64_t kGemmBf16BlockK = 2048;

// Bytes of the workspace of gemm(), which must be 64-byte aligned. It depends on the sizes and flags of `g`, on which
// of its pointers are null, and on the number of threads.
int64_t gemm_workspace_bytes(const Gemm& g, int threads);
// The facts that decide the bits of a product, besides its sizes and the instruction set.
struct GemmSums {
  // The form to which operands are rounded: "bf16", "f16" or "i15" (15 bits); or into which they are split: "bf16x3"
  // (three parts in bf16). "": they stay f32.
  const char* parts;
  int64_t block_k;  // kGemmBlockK or kGemmBf16BlockK
};
GemmSums gemm_sums(const Gemm& g);
// Computes the product. An empty product (k = 0) only applies the epilogue.
void gemm(const Gemm& g, void* workspace, ThreadPool& pool);

// Computes columns [begin, end) of a product on the calling thread alone, with the same bits as gemm(). trans_a must be
// set, and B neither packed nor in blocks. Each part of B is packed once for kGemmColumnsRows rows of the result, so
// the function is fast for few rows and many columns.
constexpr int64_t kGemmColumnsRows = 512;
int64_t gemm_columns_workspace_bytes(const Gemm& g);
void gemm_columns(const Gemm& g, int64_t begin, int64_t end, void* workspace);

// Packs a matrix B [k,n] (trans_b: [n,k]) in f32 for Gemm::packed_b. `packed` has pack_b_bytes() bytes and is 64-byte
// aligned. Its contents depend on the instruction set in use; its size does not.
int64_t pack_b_bytes(int64_t k, int64_t n);
void pack_b(int64_t k, int64_t n, const float* b, int64_t ldb, bool trans_b, float* packed,
            ThreadPool& pool);

// Dequantizes a whole matrix into out [rows, b.columns].
void widen_blocks(const Blocks& b, const void* payload, int64_t rows, float* out, ThreadPool& pool);
// Dequantizes columns [column, column + columns) of rows [row, row + rows) of a matrix into out [rows, columns], on the
// calling thread alone. `column` must be even.
void widen_part(const Blocks& b, const void* payload, int64_t row, int64_t rows, int64_t column,
                int64_t columns, float* out);
// Dequantizes rows ids[0] to ids[count - 1] of a matrix with `rows` rows into out [count, b.columns]. An id outside of
// the matrix gives zeros.
void widen_rows(const Blocks& b, const void* payload, int64_t rows, const int32_t* ids,
                int64_t count, float* out, ThreadPool& pool);

}  // namespace hone::cpu

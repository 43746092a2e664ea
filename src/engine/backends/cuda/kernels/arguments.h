// Structs and limits that the CUDA kernels share with the host code that launches them. A kernel takes its struct by
// value.
#pragma once

#ifndef __CUDACC_RTC__
#include <cstdint>
#endif

namespace hone::cuda {

constexpr int kBlock = 256;             // threads of a block, unless a kernel has another number
constexpr int kWarp = 32;               // lanes of a warp
constexpr int kRowThreads = 512;        // the most threads of a block that works on a whole row
constexpr int kScattered = 4 * kBlock;  // columns of a block of scatter_add_rows
// Elements that a block of an elementwise kernel handles in one turn of its loop. Each thread then loads 16 bytes at a
// time.
constexpr int kMapped = 16 * kBlock;

// A view of a tensor, of up to eight dimensions. The element at indices (i0, i1, ..) is at address
// first + i0 * stride[0] + i1 * stride[1] + .., in elements.
struct Strided {
  int rank = 0;
  int64_t first = 0;
  int64_t size[8] = {}, stride[8] = {};
};

constexpr int kNoActivation = -1;  // no activation; others are numbered by activations.cuh
// A product z = x y of matrices [m,k] and [k,n]. Element (i, l) of x is at i * row_x + l * column_x, and element (l, j)
// of y is at l * row_y + j * column_y, so each may be transposed. row_z: elements from a row of z to the next.
struct Product {
  int64_t m, n, k;
  int64_t row_x, column_x, row_y, column_y, row_z;
  int round;  // x and y are rounded first: 0 not at all, 1 to bf16, 2 to f16
  int act;    // the activation's number, or kNoActivation
};

// The numbers of bitsandbytes' 8-bit codes (base/core/dynamic_map.h).
struct Map {
  float of[256];
};
// torchao's 4-bit codes (base/core/dynamic_map.h). of: the numbers of the codes, in ascending order. above: the bounds
// between the numbers.
struct FourBits {
  float of[16], above[15];
};
// The numbers of the codes of a 4-bit scheme (engine/ops/block_schemes.h).
struct Codes {
  float of[16];
};
// A quantized matrix: n elements in rows of `columns`. scaled: the number of elements that share a scale; 0: a row has
// one scale.
struct Scaled {
  int64_t n, columns, scaled;
};

// The element type of an operand, for kernels that support several.
enum class Element : int { f64, f32, bf16, f16 };

// conv2d, or with `back` its gradient by the input, as a matrix product. Rows of the result are pixels of the images
// that are written, columns are channels of a group, and sums are over taps (kernel positions) and channels of the
// images that are read. The weight is [groups * columns, kernel_h * kernel_w, inner]. The gradient of a convolution
// with strides is computed in phases, one for each z of the grid. A phase has the pixels (i * stride_h + a,
// j * stride_w + b) for all i and j, with a and b of its own: these pixels meet the same taps.
struct Conv {
  int images;
  int from_h, from_w, from_channels;  // the images that are read
  int to_h, to_w, to_channels;        // the images that are written
  int groups, inner, columns;         // channels of a group: inner are read, columns are written
  int kernel_h, kernel_w, stride_h, stride_w, top, left, dilation_h, dilation_w;
  bool back;
  int round;             // without tensor cores: f32 operands are rounded as in Product
  Element bias, result;  // result: the type of the result, and of the tensor that is added to it
};
// A block computes a tile of the result of kConvRows x kConvColumns. It adds kConvDepth terms of the sum at a time.
constexpr int kConvRows = 128, kConvColumns = 64, kConvDepth = 32;
// conv2d_grad_weight as a matrix product. Rows of the result are taps and channels of a group of the images, columns
// are channels of a group of the gradient. Sums are over the positions of the windows, in parts of `part_positions`.
struct ConvParts {
  Conv of;  // the forward convolution
  int64_t positions, part_positions;
};
// The transposition of a weight in memory from [outer, rows, columns] to [outer, columns, rows].
struct Turned {
  int64_t outer, rows, columns;
};
// Depthwise convolutions. kConvSpan: pixels of a row that a thread computes. kConvTaps: taps that it holds.
constexpr int kConvSpan = 4, kConvTaps = 8;

// Sums over the rows of a matrix, by column, and the batch norms that use them. A thread sums kSummedColumns adjacent
// columns. A block has `lanes` threads along a row, and works on kBlock / lanes rows at a time. The blocks along y of
// the grid divide the rows.
struct ByColumn {
  int64_t rows, columns;
  int lanes;  // a power of two
  float eps;
  bool relu;
  Element gamma, sums;  // element types; sums: that of dgamma and dbeta if they are operands
};

// An optimizer that updates each element by itself (engine/ops/update_parts.h), with its settings.
enum class Rule { adamw, sgd, adagrad, rmsprop, lion };
struct Update {
  Rule rule;
  double beta1, beta2, eps, momentum, dampening, lr_decay, alpha;
  double decay;  // weight decay of this tensor
  bool l2, huggingface, nesterov;
  bool trust_clip;      // LAMB: the trust ratio is at most 1
  bool stochastic;      // bf16 weights are rounded stochastically, by `key`
  uint64_t key, first;  // first: number of the first element in its tensor, for the random numbers
};

// A tensor to update, with device addresses.
struct UpdateTensor {
  const void *p, *g, *states[3];  // weights, gradient, states
  void *new_p, *new_states[3];    // new versions; may be the same addresses
  // Receives new_p in 16 bits, or null. For a halved tensor (Updates::halved): the lower halves of new_p.
  void* copy;
  int64_t size;         // elements
  double decay;         // weight decay
  uint64_t key, first;  // as in Update
  int64_t first_block;  // the first block of the grid that works on this tensor
};
// kMostUpdated: the most tensors of one launch, because arguments may have 4 KiB. kUpdated: the elements of a tensor
// that a block updates.
constexpr int kMostUpdated = 32, kUpdated = 64 * kBlock;
static_assert(kMostUpdated <= 32);
struct Updates {
  Update rule;
  int count;        // tensors in `of`
  bool copies_f16;  // copies are f16, else bf16
  // Bit k: tensor k is f32 that is stored as two arrays of 16-bit halves (engine/graph/halves.h). p and new_p are then
  // the addresses of the upper halves.
  uint32_t halved;
  UpdateTensor of[kMostUpdated];
};
static_assert(sizeof(Updates) + 4 * sizeof(void*) <= 4096);

// A product with at most kMostFewRows rows: x [rows, inner] times the transpose of a weight [columns, inner]. The
// kernel reads the weight in its stored form.
constexpr int kMostFewRows = 16;
// i8: i8 with a scale for each column of the result. scaled: 4-bit codes or i8, with scales in another operand
// (Scaled). blocks: blocks that contain their scales (Format of blocks.cuh). floats: a type of Element.
enum class StoredForm : int { i8, scaled, blocks, floats };
struct FewRows {
  int64_t columns, inner;
  int rows;
  StoredForm form;
  // For blocks. format: the Format. block: elements of a block. bytes: bytes of a block.
  int format, block, bytes;
  int64_t scaled;             // scaled: elements that share a scale; 0: a row has one scale
  Element stored;             // floats: the weight's type
  Element x, z, bias, scale;  // types in memory; scale: that of the scales of i8
  Element rounded, weight;    // x is rounded to `rounded`, the weight to `weight`; f32: not rounded
};

// A tensor whose squares are summed. One launch sums several; each block sums kSquared elements of one tensor.
struct SquareTensor {
  const void* x;
  int64_t size;     // elements
  int first_block;  // the first block of the launch that works on this tensor
  Element type;
};
constexpr int kMostSquared = 168, kSquared = 64 * kBlock;  // kMostSquared: most tensors of a launch
struct Squares {
  int count, blocks;  // count: tensors of this launch. blocks: its blocks
  // first_tensor: number of tensors of the launches before this one. first_part: number of their blocks.
  int first_tensor, first_part;
  SquareTensor of[kMostSquared];
};
static_assert(sizeof(Squares) + 2 * sizeof(void*) <= 4096);

// layer_norm, rms_norm and their gradients. A block has several rows (blockDim.y) with blockDim.x threads each.
struct Norm {
  int64_t rows;
  int columns;
  float eps;
  Element x, gamma, y;      // types; y: that of the result, and of its gradient
  Element dsum, dx;         // types of a gradient's operand dsum and result dx
  bool is_layer, has_beta;  // is_layer: layer_norm, else rms_norm
  bool has_sums;            // the gradient also sums dx over its rows
};
// kNormed: adjacent columns of a thread of a norm. kMostNormRows: the most rows of a block.
constexpr int kNormed = 8, kMostNormRows = 8;
constexpr int kTurned = 4;         // pairs of channels that a thread of rope rotates
constexpr int kSummedColumns = 4;  // columns of a thread of row_parts

// The rows of linear_cross_entropy. columns: number of logits of a row. step: elements from a row to the next.
struct Entropy {
  int64_t rows = 0, columns = 0, step = 0;
  float smoothing = 0;  // label smoothing
  Element bias = Element::f32;
  bool has_gradients = false;
  bool keeps_row = false;  // a block keeps its row in dynamic shared memory
};

// adafactor of a tensor of `matrices` matrices; a vector is one row.
struct Factored {
  int64_t matrices, rows, columns;
  double eps, clip_threshold, decay_rate;
  double decay;          // weight decay of this tensor
  int64_t part_rows;     // rows of a part of the sums by column
  int64_t square_parts;  // number of parts of the sum of squares
};

// apollo_adamw of a matrix [rows, columns], whose gradient is projected to [low_rows, low_columns]. by: each row, each
// column or the whole matrix has a learning-rate scale of its own.
struct Apollo {
  enum class By : int { rows, columns, all } by;
  int64_t rows, columns, low_rows, low_columns;
  double beta1, beta2, eps, decay;
  double scale;   // the square root of attribute `scale`
  int64_t parts;  // number of parts of the sum of squares
};

// gated_delta_rule and its gradient. keys, values: channels of a head of keys and of a head of values.
struct DeltaRule {
  int64_t tokens, segments, heads, key_heads, keys, values;
};
constexpr int kDeltaChunk = 16;  // tokens whose states the gradient recomputes together

// attention and attention_grad, with their attributes (engine/ops/attention.cc).
struct Attention {
  int64_t tq, tk;                        // number of packed queries and keys
  int64_t row_q, row_k, row_v, row_out;  // elements from a token to the next
  int64_t window, reach;                 // window 0: no window; reach 0: no bias
  int64_t table_columns, page;           // paged: columns of the block table, tokens of a page
  uint64_t place;                        // dropout: hash of attribute key, for the random key
  uint32_t threshold;                    // dropout: an element is dropped if its word is below
  float kept, scale;                     // kept: factor of the probabilities that are not dropped
  int heads, kv_heads, size, segments;   // size: channels of a head
  bool causal;
  // The members below are for operands in bf16 and f16 (flash_*.cuh).
  int group;  // segments that begin in the last `group` tokens have interleaved tiles
  // The kernel of dq passes its dropout to the kernel of dk and dv as bits. There is room for the bits of this number
  // of tiles of keys in a segment.
  int bit_columns;
};
// Heads of a block of paged_attention.
constexpr int kPagedHeads = 4;
// Tokens of a tile. kQueryTile: of queries. kBackTile: of queries in the gradient. kKeyTile: of keys.
constexpr int kQueryTile = 64, kBackTile = 32, kKeyTile = 32;
// On tensor cores. kFlashBlock: threads of a block. kFlashTile: tokens of a tile. kFlashBackTile: tokens of a tile of
// queries in the gradient.
constexpr int kFlashBlock = 128, kFlashTile = 64, kFlashBackTile = 32;
// The most channels of a head for which the gradient kernels can sum rows if there is dropout. Heads of 128 channels
// leave too few registers.
constexpr int kMostSummedWithDropout = 64;
// Floats from a row to the next in a tile of gradients of scores. Rows then begin eight banks of shared memory apart.
constexpr int kBiasStep = 72;
#ifndef __CUDACC_RTC__
// Bytes of dynamic shared memory of the attention kernels, for heads of `size` channels: tiles of queries and keys, and
// one or two tiles of scores.
constexpr int attention_bytes(int size) {
  return 4 * ((kQueryTile + kKeyTile) * (size + 1) + kQueryTile * (kKeyTile + 1));
}
constexpr int attention_back_bytes(int size) {
  return 4 * ((kBackTile + 2 * kKeyTile) * (size + 1) + 2 * kBackTile * (kKeyTile + 1));
}
constexpr int warp_attention_bytes(int size) {
  return 2 * 3 * kFlashTile * (size + 8) + kFlashTile * kFlashTile;
}
constexpr int warp_attention_back_bytes(int size) {
  return 2 * 2 * (kFlashTile + kFlashBackTile) * (size + 8) +
         4 * kFlashTile * (kFlashBackTile + 1) + kFlashTile * kFlashBackTile;
}
// For operands in bf16 and f16: bytes of one tile. The forward pass has one tile of queries, two of keys and two of
// values.
constexpr int flash_tile_bytes(int size) { return 2 * kFlashTile * size; }
constexpr int flash_bytes(int size) { return 5 * flash_tile_bytes(size); }
constexpr int flash_back_q_bytes(int size, bool bias) {
  return 6 * flash_tile_bytes(size) + (bias ? 4 * kFlashTile * kBiasStep : 0);
}
constexpr int flash_back_kv_bytes(int size, bool dropout) {
  return 6 * flash_tile_bytes(size) + 2 * 2 * 4 * kFlashTile + 16 + (dropout ? 2 * 512 : 0);
}
#endif

}  // namespace hone::cuda

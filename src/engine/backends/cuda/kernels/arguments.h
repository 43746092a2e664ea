// Arguments that kernels take by value, the same for the host and for a GPU.
#pragma once

#ifndef __CUDACC_RTC__
#include <cstdint>
#endif

namespace hone::cuda {

constexpr int kBlock = 256;  // threads of a block, where a kernel says nothing else
constexpr int kWarp = 32;
constexpr int kRowThreads = 512;        // at most, of a block that has a whole row
constexpr int kScattered = 4 * kBlock;  // columns of a block of scatter_add_rows
// Elements of a block's turn, where a kernel goes over all: a thread's loads are of 16 bytes.
constexpr int kMapped = 16 * kBlock;

// A tensor of up to eight dimensions, seen with other strides: element i of the shape is at first +
// the sum of its indices times `stride`, all in elements.
struct Strided {
  int rank = 0;
  int64_t first = 0;
  int64_t size[8] = {}, stride[8] = {};
};

constexpr int kNoActivation = -1;  // else a kind of activations.cuh
// m x k by k x n. Operands are read with strides, so that either may be transposed, and rounded
// first: 1 to bf16, 2 to f16. row_z: from a row of results to the next.
struct Product {
  int64_t m, n, k;
  int64_t row_x, column_x, row_y, column_y, row_z;
  int round;
  int act;
};

// bitsandbytes' numbers of 8 bits (base/core/dynamic_map.h).
struct Map {
  float of[256];
};
// torchao's numbers of 4 bits and their bounds (base/core/dynamic_map.h).
struct FourBits {
  float of[16], above[15];
};
// The codes of a scheme of 4 bits (engine/ops/block_schemes.h).
struct Codes {
  float of[16];
};
struct Scaled {
  int64_t n, columns, scaled;  // scaled 0: a scale for each row
};

// Types of elements, where a kernel is for several.
enum class Element : int { f64, f32, bf16, f16 };

// conv2d, or its gradient by the input (`back`), as a product: rows are pixels of the images that are written, columns
// channels of a group, and the sum is over taps and channels of the images that are read. The weight is
// [groups * columns, kernel_h * kernel_w, inner]. A gradient has the rows of one phase in each z of its grid: pixels
// (i stride_h + phase, j stride_w + phase), which meet the same taps.
struct Conv {
  int images;
  int from_h, from_w, from_channels;  // what is read
  int to_h, to_w, to_channels;        // what is written
  int groups, inner, columns;         // channels of a group that are read, and written
  int kernel_h, kernel_w, stride_h, stride_w, top, left, dilation_h, dilation_w;
  bool back;
  int round;             // f32 operands on cores without tensors: as in Product
  Element bias, result;  // result: also of what it is added to
};
// Rows and columns of a block's tile, and what it multiplies at a time.
constexpr int kConvRows = 128, kConvColumns = 64, kConvDepth = 32;
// conv2d_grad_weight: rows are taps and channels of a group that are read, columns those of the gradient, sums are over
// the positions of the windows, in parts of `part_positions`.
struct ConvParts {
  Conv of;  // the forward convolution
  int64_t positions, part_positions;
};
// The order of a weight's elements in memory: [outer, rows, columns] becomes [outer, columns, rows].
struct Turned {
  int64_t outer, rows, columns;
};
// By channel: places of a thread beside each other in a row of an image, and taps.
constexpr int kConvSpan = 4, kConvTaps = 8;

// Sums over rows of a matrix by column, and what is done with them. A block has `lanes` threads of kSummedColumns
// columns each beside each other, and kBlock / lanes rows at a time. Rows are shared by the blocks along y.
struct ByColumn {
  int64_t rows, columns;
  int lanes;  // a power of two
  float eps;
  bool relu;
  Element gamma, sums;  // sums: dgamma and dbeta as an operand
};

// A rule that updates each element by itself (engine/ops/update_parts.h), with the attributes that
// it has.
enum class Rule { adamw, sgd, adagrad, rmsprop, lion };
struct Update {
  Rule rule;
  double beta1, beta2, eps, momentum, dampening, lr_decay, alpha;
  double decay;  // of this tensor
  bool l2, huggingface, nesterov;
  bool trust_clip;      // of LAMB
  bool stochastic;      // weights in bf16 are rounded at random,
  uint64_t key, first;  // by this key; `first`: the place of the first element in its tensor
};

// A tensor that is updated, its states and their new versions; addresses are those of the device.
struct UpdateTensor {
  const void *p, *g, *states[3];
  void *new_p, *new_states[3];
  void* copy;  // of new_p in 16 bits, or null; of those that are halved: the lower halves of new_p
  int64_t size;
  double decay;
  uint64_t key, first;  // as in Update
  int64_t first_block;  // that has elements of it
};
// Several of them in one launch: a block has kUpdated elements of one. Arguments have 4 KiB at
// most.
constexpr int kMostUpdated = 32, kUpdated = 64 * kBlock;
static_assert(kMostUpdated <= 32);
struct Updates {
  Update rule;
  int count;
  bool copies_f16;  // else bf16
  uint32_t
      halved;  // bit k: p and new_p of tensor k are halves (engine/graph/halves.h), of which the upper ones are there
  UpdateTensor of[kMostUpdated];
};
static_assert(sizeof(Updates) + 4 * sizeof(void*) <= 4096);

// x [rows,inner] times a weight of `columns` rows of `inner` elements, as it is stored: i8 with a scale for each
// column, 4 bits or i8 with scales beside them (Scaled), blocks that hold their scales (blocks.cuh's Format), or floats.
constexpr int kMostFewRows = 16;
enum class StoredForm : int { i8, scaled, blocks, floats };
struct FewRows {
  int64_t columns, inner;
  int rows;
  StoredForm form;
  int format, block, bytes;   // of blocks
  int64_t scaled;             // elements that share a scale; 0: a row
  Element stored;             // of floats
  Element x, z, bias, scale;  // as they are kept; scale: that of i8
  Element rounded, weight;    // what x and the weight are rounded to; f32: nothing
};

// Tensors whose squares are summed, several in one launch: a block has kSquared elements of one.
struct SquareTensor {
  const void* x;
  int64_t size;
  int first_block;
  Element type;
};
constexpr int kMostSquared = 168, kSquared = 64 * kBlock;
struct Squares {
  int count, blocks;             // of this launch
  int first_tensor, first_part;  // those before it
  SquareTensor of[kMostSquared];
};
static_assert(sizeof(Squares) + 2 * sizeof(void*) <= 4096);

// layer_norm, rms_norm and their gradients, with the types of what they read and write. A block has
// `threads` of a row in x, and rows in y.
struct Norm {
  int64_t rows;
  int columns;
  float eps;
  Element x, gamma, y;      // y: of the result, and its gradient
  Element dsum, dx;         // of a gradient
  bool is_layer, has_beta;  // else rms_norm
  bool has_sums;            // a gradient sums the rows of dx too
};
// Columns that a thread has beside each other, and most rows of a block.
constexpr int kNormed = 8, kMostNormRows = 8;
constexpr int kTurned = 4;         // pairs of channels of a thread of rope
constexpr int kSummedColumns = 4;  // of a thread of row_parts

// The rows of linear_cross_entropy: `columns` logits, from one row to the next `step` of them.
struct Entropy {
  int64_t rows = 0, columns = 0, step = 0;
  float smoothing = 0;
  Element bias = Element::f32;
  bool has_gradients = false;
  bool keeps_row = false;  // in dynamic shared memory
};

// adafactor of a tensor, which is `matrices` of rows x columns; of a vector one row.
struct Factored {
  int64_t matrices, rows, columns;
  double eps, clip_threshold, decay_rate;
  double decay;          // of this tensor
  int64_t part_rows;     // of a part of a column's sum
  int64_t square_parts;  // of the sum of squares
};

// apollo_adamw of a matrix and of the product of its gradient. A channel that has a scale is a row or a column.
struct Apollo {
  enum class By : int { rows, columns, all } by;
  int64_t rows, columns, low_rows, low_columns;
  double beta1, beta2, eps, decay;
  double scale;   // the root of attribute scale
  int64_t parts;  // of the sum of squares
};

// gated_delta_rule and its gradient: heads of values and of keys, and their sizes.
struct DeltaRule {
  int64_t tokens, segments, heads, key_heads, keys, values;
};
constexpr int kDeltaChunk = 16;  // tokens whose states the gradient makes again together

// attention and attention_grad, whose attributes it has (engine/ops/attention.cc).
struct Attention {
  int64_t tq, tk;                        // packed tokens
  int64_t row_q, row_k, row_v, row_out;  // elements from a token to the next
  int64_t window, reach;                 // 0: none
  int64_t table_columns, page;           // pages of a segment, tokens of a page
  uint64_t place;                        // dropout: the hash of its key
  uint32_t threshold;
  float kept, scale;
  int heads, kv_heads, size, segments;
  bool causal;
  // In 16 bits (flash_*.cuh):
  int group;        // segments that begin in the last `group` tokens give their tiles by turns
  int bit_columns;  // tiles of keys of a segment, at most, whose dropout goes from dq to dk/dv as bits
};
// Heads of a block of paged_attention.
constexpr int kPagedHeads = 4;
// Tokens of a tile; queries of a gradient have smaller ones.
constexpr int kQueryTile = 64, kBackTile = 32, kKeyTile = 32;
// The same on tensor cores, with four warps in a block.
constexpr int kFlashBlock = 128, kFlashTile = 64, kFlashBackTile = 32;
// Channels of heads whose gradient sums its rows where there is dropout: those of 128 leave no registers for it.
constexpr int kMostSummedWithDropout = 64;
// Floats from a row to the next of a tile of gradients of scores: rows begin eight banks apart.
constexpr int kBiasStep = 72;
#ifndef __CUDACC_RTC__
// Dynamic shared memory: tiles of `size` channels, and one or two of pairs.
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
// In 16 bits: tiles of queries, and two of keys and of values.
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

// The catalogue of operations. One file of this folder defines each operation; models and passes emit it by the
// function here. Shapes: T packed tokens, S sequences (segments), C channels, H query heads, G key/value heads, D head
// size, V vocabulary. cu i32[S+1]: segment s has the tokens cu[s] to cu[s + 1] - 1. A ValueId with the default
// kNoValue may be absent. A value without a type in its comment is f32. An accumulator ("acc") is an optional operand
// to which the result is added.
#pragma once

#include "engine/graph/builder.h"

namespace hone {

const OpTable& op_table();  // all ops of this folder; made once

namespace ops {

// ---- primitives: every backend computes these -------------------------------------------------
ValueId constant(Builder& b, double value, Type type);  // each element is `value`
ValueId iota(Builder& b, Type type, int64_t axis);      // each element is its index along axis
// Conversions to floats round to nearest, ties to even. Conversions of floats to integers round toward 0.
ValueId cast(Builder& b, ValueId x, DType to);
// The functions from add() to select() are elementwise, on one element type and equal shapes. A scalar operand, of
// shape [], is broadcast.
ValueId add(Builder& b, ValueId x, ValueId y);
ValueId sub(Builder& b, ValueId x, ValueId y);
ValueId mul(Builder& b, ValueId x, ValueId y);
ValueId div(Builder& b, ValueId x, ValueId y);
ValueId maximum(Builder& b, ValueId x, ValueId y);  // of bool: logical or
ValueId minimum(Builder& b, ValueId x, ValueId y);  // of bool: logical and
ValueId neg(Builder& b, ValueId x);
ValueId exp(Builder& b, ValueId x);
ValueId log(Builder& b, ValueId x);
ValueId tanh(Builder& b, ValueId x);
ValueId erf(Builder& b, ValueId x);
ValueId sqrt(Builder& b, ValueId x);
ValueId sin(Builder& b, ValueId x);
ValueId cos(Builder& b, ValueId x);
// x `how` y as bool; `how` is one of "eq", "ne", "lt", "le", "gt", "ge".
ValueId compare(Builder& b, ValueId x, ValueId y, const std::string& how);
ValueId select(Builder& b, ValueId condition, ValueId x, ValueId y);  // condition ? x : y
ValueId reshape(Builder& b, ValueId x, Shape shape);                  // a view
// Repeats x to `shape`; dimension i of x becomes dimension axes[i] of the result.
ValueId broadcast(Builder& b, ValueId x, Shape shape, std::vector<int64_t> axes);
// Elements [begin, end) along the axis; a view if the axis is 0.
ValueId slice(Builder& b, ValueId x, int64_t axis, int64_t begin, int64_t end);
ValueId copy(Builder& b, ValueId x, Space to);  // starts a copy of x to another space
ValueId wait(Builder& b, ValueId x);            // waits until the copy x is complete; a view of x
ValueId concat(Builder& b, const Values& parts, int64_t axis);
ValueId transpose(Builder& b, ValueId x, std::vector<int64_t> permutation);
// reduce_*: the result has only the axes that are not in `axes`, which must be in rising order.
ValueId reduce_sum(Builder& b, ValueId x, std::vector<int64_t> axes);
ValueId reduce_max(Builder& b, ValueId x, std::vector<int64_t> axes);
// Matrix product: [.., M, K] x [.., K, N] -> [.., M, N]. trans_x, trans_y: the last two dimensions of that operand are
// swapped. Accumulator: operand 2. Here and below `rounded` is f32, bf16 or f16: the factors of products
// are rounded to that type first; sums are not.
ValueId matmul(Builder& b, ValueId x, ValueId y, bool trans_x = false, bool trans_y = false,
               DType rounded = DType::f32);
// Row i of the result is row ids[i] of x; zeros if ids[i] < 0. x [R, ...], ids i32[N] -> [N, ...].
ValueId gather_rows(Builder& b, ValueId x, ValueId ids);
// A quantized matrix [N,K] (block_schemes.h) and its conversion to floats.
struct InBlocks {
  std::string scheme;
  ValueId payload, scales = kNoValue, nested_scales = kNoValue, offset = kNoValue;
};
ValueId dequantize(Builder& b, const InBlocks& w, DType dtype = DType::f32);
// The two functions below make random masks of dropout (bool; true: the element is kept), by Philox4x32-10
// (base/core/philox.h). p: the probability of dropping. rng i64[2] = {seed, step}. sample_ids i64[T]: a number for each
// token's sample. `key` names the place in the model, usually the scope; equal keys have equal masks.

// The mask of the elements of a layer: positions i32[T] -> [T, channels].
ValueId dropout_mask(Builder& b, ValueId rng, ValueId sample_ids, ValueId positions, double p,
                     int64_t channels, const std::string& key);
// The mask of attention probabilities: sample_ids i64[Tq], cu_q, cu_k i32[S+1] -> [heads, Tq, tk]. It is true for a
// query and a key of different segments.
ValueId attention_dropout_mask(Builder& b, ValueId rng, ValueId sample_ids, ValueId cu_q,
                               ValueId cu_k, double p, int64_t heads, int64_t tk,
                               const std::string& key);
// Normally distributed numbers with mean 0 and standard deviation std, by Philox from `key`. `period` steps have the
// same numbers, the next `period` steps have others. step i64[], 1 in the first step.
ValueId random_normal(Builder& b, ValueId step, const Type& type, double std, int64_t period,
                      int64_t key);
// Rounds x (f32) to bf16 stochastically, by Philox from `key` and step i64[]. `first`: the index of x's first element
// in its tensor, so that a part of a tensor is rounded as in the whole.
ValueId round_stochastic(Builder& b, ValueId x, ValueId step, int64_t key, int64_t first = 0);
// Converts f32 numbers to split form (engine/graph/halves.h). `joined` true: converts split form back to f32 numbers.
ValueId halves(Builder& b, ValueId x, bool joined);
// The upper halves of x, which is in split form, as bf16 of x's shape; a view.
ValueId upper_half(Builder& b, ValueId x);
// Row r of the result is the sum of dy[t] over all t with ids[t] = r; ids < 0 are skipped. ids i32[T], dy [T,C] ->
// [rows,C]. Accumulator: operand 2.
ValueId scatter_add_rows(Builder& b, ValueId ids, ValueId dy, int64_t rows);
// The k largest elements of each row of x [T,C], largest first -> values [T,k], columns i32[T,k]. Equal elements
// are in the order of their columns.
struct TopK {
  ValueId values, columns;
};
TopK top_k(Builder& b, ValueId x, int64_t k);
// Sorts rows by group, for a mixture of experts. Row r is in group ids[r]; ids i32[N] in 0..groups-1. The rows of a
// group keep their order. Each result is i32:
//   rows [N]             the row at each place of the sorted order, divided by `each` and rounded down
//   places [N]           the place of each row
//   starts [groups + 1]  group g has the places starts[g] to starts[g + 1] - 1
//   groups [N]           the group at each place
// each = k: rows k t to k t + k - 1 are k copies of row t of a tensor, as with k experts for each token.
struct Groups {
  ValueId rows, places, starts, groups;
};
Groups group_rows(Builder& b, ValueId ids, int64_t groups, int64_t each = 1);
// Multiplies the rows of each group with the group's matrix: rows starts[g] to starts[g + 1] - 1 of x [N,K] with
// w[g], w [G,K,M] ([G,M,K] with trans_w) -> [N,M]. G: groups; starts i32[G+1].
ValueId grouped_matmul(Builder& b, ValueId x, ValueId w, ValueId starts, bool trans_w = false,
                       DType rounded = DType::f32);
// The gradient of grouped_matmul's w: result g is x_g^T y_g with the rows of group g. x [N,K], y [N,M] -> [G,K,M].
// Accumulator: operand 3.
ValueId grouped_outer(Builder& b, ValueId x, ValueId y, ValueId starts, DType rounded = DType::f32);
// bitsandbytes' 8-bit format of optimizer states (quantize_dynamic.cc): x -> codes u8 of x's shape, absmax
// [ceil(count / 256)], one for each block of 256 elements. is_signed: the map has negative values.
struct DynamicCodes {
  ValueId codes, absmax;
};
DynamicCodes quantize_dynamic(Builder& b, ValueId x, bool is_signed);
ValueId dequantize_dynamic(Builder& b, ValueId codes, ValueId absmax, bool is_signed);

// ---- composites: have a decomposition and a gradient of their own -----------------------------
ValueId gelu(Builder& b, ValueId x);
ValueId gelu_tanh(Builder& b, ValueId x);
ValueId silu(Builder& b, ValueId x);
ValueId relu(Builder& b, ValueId x);
ValueId softmax(Builder& b, ValueId x);  // over the last axis; f32 if x is bf16 or f16
// kind: "gelu", "gelu_tanh", "silu" or "relu"; "none" returns x.
ValueId activation(Builder& b, ValueId x, const std::string& kind);
// The activation's gradient: dy * f'(x).
ValueId activation_grad(Builder& b, ValueId x, ValueId dy, const std::string& kind);
ValueId gate(Builder& b, ValueId a, ValueId x, const std::string& kind);  // activation(a) * x
// grouped_matmul() with quantized weights. w is one matrix, in which the matrices [M,K] of the G groups come one
// after another, [G*M,K]. With trans_w x [N,K] -> [N,M], else x [N,M] -> [N,K].
ValueId grouped_blocks(Builder& b, ValueId x, const InBlocks& w, ValueId starts,
                       bool trans_w = false, DType rounded = DType::f32);
// y[T,N] = act(x[T,K] W + bias[N]) + residual[T,N]; W is [K,N], or [N,K] with trans_w. Attribute save_pre, which passes
// set, adds result 1: x W + bias, the activation's operand.
struct LinearOptions {
  ValueId bias = kNoValue;
  ValueId residual = kNoValue;
  bool trans_w = false;
  std::string act = "none";
  DType rounded = DType::f32;
};
ValueId linear(Builder& b, ValueId x, ValueId w, const LinearOptions& o = {});
// The sum of all rows: [T,N] -> [N]. Accumulator: operand 1.
ValueId sum_rows(Builder& b, ValueId x);
// Norms of the rows of x [T,C]; gamma, beta [C]. y [T,C]; mean, rstd = 1 / sqrt(variance + eps) [T]. rms_norm has rstd
// = 1 / sqrt(mean of squares + eps) and mean = kNoValue.
struct Norm {
  ValueId y, mean, rstd;
};
Norm layer_norm(Builder& b, ValueId x, ValueId gamma, ValueId beta, double eps);
Norm rms_norm(Builder& b, ValueId x, ValueId gamma, double eps);
ValueId embedding(Builder& b, ValueId table, ValueId ids);  // [V,C], i32[T] -> [T,C]
// y = (keep ? x / (1 - p) : 0) + residual, with the mask of dropout_mask(). x, residual [T,C], sample_ids i64[T],
// positions i32[T].
ValueId dropout(Builder& b, ValueId x, ValueId rng, ValueId sample_ids, ValueId positions, double p,
                const std::string& key, ValueId residual = kNoValue);
// Rotary position embedding (RoPE), which rotates the pairs (j, j + D/2) of each head, as Transformers' Llama does: x
// [T,H*D], positions i32[T], inv_freq f32[D/2] -> x's shape. With a shorter inv_freq [R/2] only the first R channels of
// a head are rotated. The result is multiplied by attention_scaling. Attribute inverse (for the gradient) rotates by
// the negative angle.
ValueId rope(Builder& b, ValueId x, ValueId positions, ValueId inv_freq, int64_t heads,
             double attention_scaling = 1.0);
// Attention over packed segments of any lengths. q [Tq,H*D]; k, v [Tk,G*D]; or q is a fused [T,(H+2G)*D] with queries,
// keys and values, and k, v are absent. Results: out [Tq,H*D], lse [H,Tq] (log-sum-exp of the scores). A segment's
// queries and keys are aligned at their ends: its last query has the position of its last key.
// Paged KV cache: k, v are [pages, page, G*D], block_table i32[S,B] has the pages of each segment in order, and cu_k
// gives the segments' numbers of keys.
struct AttentionInputs {
  ValueId q, k = kNoValue, v = kNoValue, cu_q, cu_k;
  // rng i64[2] and sample_ids i64[Tq] are for dropout, as in attention_dropout_mask().
  ValueId block_table = kNoValue, rng = kNoValue, sample_ids = kNoValue;
  // [H,2*reach-1]: bias[h, (position of key) - (position of query) + reach - 1] is added to the scaled score. No
  // segment may be longer than reach.
  ValueId bias = kNoValue;
  // [H], attention sinks: one more score of each head in the softmax, without a value. Not supported together with
  // bias.
  ValueId sinks = kNoValue;
};
struct AttentionOptions {
  // window w > 0: a query sees the keys whose position is less than w before its own; if not causal, also those less
  // than w after it. 0: all keys of its segment.
  int64_t heads = 1, kv_heads = 1, window = 0;
  bool causal = true;             // a query sees no later keys
  double scale = 1, dropout = 0;  // scores are scale * q k^T; dropout: the probability of dropping
  std::string key;                // names the place in the model, for dropout's mask
  double softcap = 0;  // c > 0: scaled scores s become c tanh(s / c) before the bias; 0: off
};
struct Attention {
  ValueId out, lse;
};
Attention attention(Builder& b, const AttentionInputs& in, const AttentionOptions& o);
// Disentangled attention, whose scores have separate terms for contents and relative positions (DeBERTa, arXiv
// 2006.03654). q, k, v [T,H*D]; position_keys, position_queries [R,H*D], of which one may be absent. row_of
// i32[2*reach-1]: for a key d positions before its query, the row of position_keys and position_queries is row_of[d +
// reach - 1]. No segment may be longer than reach. Results: out [T,H*D], lse [H,T].
struct DisentangledInputs {
  ValueId q, k, v, position_keys = kNoValue, position_queries = kNoValue, row_of, cu;
  ValueId rng = kNoValue, sample_ids = kNoValue;  // for dropout, as in attention_dropout_mask()
};
struct DisentangledOptions {
  int64_t heads = 1;
  double scale = 1, dropout = 0;  // dropout: the probability of dropping
  std::string key;                // names the place in the model, for dropout's mask
};
Attention disentangled_attention(Builder& b, const DisentangledInputs& in,
                                 const DisentangledOptions& o);
// The weighted sum of each token's k rows after group_rows(): y[t] = sum over j of weights[t,j] x[places[t * k + j]].
// x [N,C], places i32[N], weights [T,k], N = T * k -> [T,C].
ValueId combine_rows(Builder& b, ValueId x, ValueId places, ValueId weights);
// Writes row t of x [T,C] into the cache [pages, page, C] at slot slots[t], which is (index of the page) * (page size)
// + (offset in the page); a slot < 0 skips the row. Returns the new cache.
ValueId cache_write(Builder& b, ValueId cache, ValueId x, ValueId slots);
// Causal depthwise convolution: a filter of K taps for each channel, within each segment. x [T,C], w [C,K], bias [C] or
// kNoValue -> y [T,C]. Tap w[c, K-1] multiplies the token itself, w[c, 0] the token K - 1 before it. `state`
// [S,(K-1)*C]: the K - 1 rows before each segment; without it they are zeros. Result `state` is the state after
// each segment; kNoValue: no state was given.
struct CausalConv {
  ValueId y, state = kNoValue;
};
CausalConv causal_conv1d(Builder& b, ValueId x, ValueId w, ValueId bias, ValueId cu,
                         ValueId state = kNoValue);
// The gated delta rule of linear attention (arXiv 2412.06464), within each segment; a primitive. q, k [T,G*D], v
// [T,H*E], decay and beta [T,H] -> out [T,H*E]. H is `heads`, G is `key_heads`; each of the G heads of keys serves H/G
// heads of values. `state` [S,H*D*E]: the state before each segment; without it the state is 0. Result `state` is the
// state after each segment; kNoValue: no state was given.
struct DeltaRuleInputs {
  ValueId q, k, v, decay, beta, cu, state = kNoValue;
};
struct DeltaRule {
  ValueId out, state = kNoValue;
};
DeltaRule gated_delta_rule(Builder& b, const DeltaRuleInputs& in, int64_t heads, int64_t key_heads);
// The loss of a language-model head or a classifier; kernels never hold all logits. x [T,C], w [V,C], bias [V] or
// kNoValue, labels i32[T] (negative, such as -100: ignored), scale []. Results: nll [T] the negative log likelihood (0
// if ignored), loss [] = scale * sum of nll, correct i32[T] (1: the argmax of the logits is the label).
// `grads` true: the gradients dx [T,C], dw [V,C] and dbias [V] of loss are computed together with the loss, in three
// matrix products. dw is left out (kNoValue) if w is not trainable; dbias if bias is absent or not trainable. `grads`
// false: all three are kNoValue. Accumulator of dw: operand 4.
// smoothing e: the target is (1-e) onehot(label) + e/V, as in Transformers' LabelSmoother. softcap c > 0: logits z
// become c tanh(z / c), in the gradients too.
struct CrossEntropy {
  ValueId loss, nll, correct, dx, dw, dbias;
};
CrossEntropy linear_cross_entropy(Builder& b, ValueId x, ValueId w, ValueId labels, ValueId scale,
                                  bool grads, double smoothing = 0, ValueId bias = kNoValue,
                                  double softcap = 0);
// The sum of squares of each of n tensors -> f64[n].
ValueId sum_squares(Builder& b, const Values& tensors);
// The sum of squares of one tensor -> f64[].
ValueId sum_squares(Builder& b, ValueId tensor);
// Gradient clipping. squares f64[n]: the gradients' sum_squares(). norm f64[]: the norm of all gradients together,
// divided by loss_scale. scale f64[]: the factor that divides the gradients by loss_scale and clips their norm to
// max_norm (0: no limit); it is NaN unless the norm and `loss` are finite. loss_scale f64[] and loss [] may be
// kNoValue.
struct Clip {
  ValueId norm, scale;
};
Clip clip_scale(Builder& b, ValueId squares, ValueId loss_scale, ValueId loss, double max_norm);
// One step of an optimizer over all tensors (update_parts.h has the operands). `rule` is the name of an optimizer op,
// such as "adamw", "sgd" or "lion_8bit"; the op's file has its formula, states and attributes. `states` has a list of
// tensors for each state, one list after another. Returns p' and the new states, in the order of the operands.
struct UpdateLists {
  Values p, g, states;
  // lr f64[], step i64[] (1 for the first), g_scale f64[] (each gradient is multiplied by it).
  ValueId lr = kNoValue, step = kNoValue, g_scale = kNoValue;
  std::vector<int64_t> decay;  // 0 or 1 for each tensor; 1: weight_decay applies; empty: to all
  // A key for each tensor's random numbers, for optimizers that draw some; else empty.
  std::vector<int64_t> keys = {};
  // A key for each tensor: p' in bf16 is rounded stochastically; empty: to nearest.
  std::vector<int64_t> round_keys = {};
  std::vector<int64_t> rows = {};  // [first, end]: the rows to update of the one tensor; empty: all
};
Values update(Builder& b, const std::string& rule, const UpdateLists& lists, Attrs attrs);

// ---- collectives: done with the same node of every other rank, on the lane comm ----------------
// The rows of each tensor that each rank has (collective_parts.h).
struct Split {
  Share share;
  std::vector<int64_t> units = {};  // for each tensor: how many rows stay together; empty: 1
  // For each tensor: the rank that has all of its rows, or -1: the rows are divided; empty: -1 for all tensors.
  std::vector<int64_t> owners = {};
  // fold_units: each group of this number of consecutive ranks has the same terms, which count once.
  int64_t copies = 1;
  // fold_units: the rows are divided among this number of consecutive ranks; 0: among all ranks.
  int64_t parts = 0;
};
Values all_reduce(Builder& b, const Values& tensors, const Share& share);  // sums over all ranks
// This rank's rows of the sums over all ranks.
Values reduce_scatter(Builder& b, const Values& tensors, const Split& split);
// Adds in a fixed order: this rank's rows of sums + the terms of rank 0 + those of rank 1 + ... up to rank present - 1.
// present i64[]; it counts groups of copies if split.copies > 1. `sums` may be empty: the sum then starts with rank 0.
Values fold_units(Builder& b, const Values& terms, const Values& sums, ValueId present,
                  const Split& split);
// The whole tensors, joined from the parts (rows) of all ranks; tensor i has rows[i] rows.
Values all_gather(Builder& b, const Values& parts, const std::vector<int64_t>& rows,
                  const Split& split);

}  // namespace ops
}  // namespace hone

// The catalogue of operations. One file of this folder defines each; the functions here are how
// models and passes write them. Shapes: T packed tokens, S sequences, C channels, H query heads,
// G key/value heads, D head size, V vocabulary. Values are f32 unless said otherwise.
#pragma once

#include "engine/graph/builder.h"

namespace hone {

const OpTable& op_table();  // every op of the shelf, made once

namespace ops {

// ---- primitives: every backend computes these -------------------------------------------------
ValueId constant(Builder& b, double value, Type type);  // every element = value
ValueId iota(Builder& b, Type type, int64_t axis);      // index along axis
ValueId cast(Builder& b, ValueId x, DType to);
// Elementwise on equal shapes; a scalar ([]) operand is broadcast.
ValueId add(Builder& b, ValueId x, ValueId y);
ValueId sub(Builder& b, ValueId x, ValueId y);
ValueId mul(Builder& b, ValueId x, ValueId y);
ValueId div(Builder& b, ValueId x, ValueId y);
ValueId maximum(Builder& b, ValueId x, ValueId y);  // of bool: or
ValueId minimum(Builder& b, ValueId x, ValueId y);  // of bool: and
ValueId neg(Builder& b, ValueId x);
ValueId exp(Builder& b, ValueId x);
ValueId log(Builder& b, ValueId x);
ValueId tanh(Builder& b, ValueId x);
ValueId erf(Builder& b, ValueId x);
ValueId sqrt(Builder& b, ValueId x);
ValueId sin(Builder& b, ValueId x);
ValueId cos(Builder& b, ValueId x);
ValueId compare(Builder& b, ValueId x, ValueId y,
                const std::string& how);  // eq ne lt le gt ge -> bool
ValueId select(Builder& b, ValueId condition, ValueId x, ValueId y);
ValueId reshape(Builder& b, ValueId x, Shape shape);  // a view
ValueId broadcast(Builder& b, ValueId x, Shape shape,
                  std::vector<int64_t> axes);  // axes[i]: where dim i of x goes
ValueId slice(Builder& b, ValueId x, int64_t axis, int64_t begin, int64_t end);  // axis 0: a view
ValueId copy(Builder& b, ValueId x, Space to);  // to another space; starts here
ValueId wait(Builder& b, ValueId x);            // the result of a copy, done; a view
ValueId concat(Builder& b, const Values& parts, int64_t axis);
ValueId transpose(Builder& b, ValueId x, std::vector<int64_t> permutation);
ValueId reduce_sum(Builder& b, ValueId x, std::vector<int64_t> axes);  // axes are removed
ValueId reduce_max(Builder& b, ValueId x, std::vector<int64_t> axes);
// [.., M, K] x [.., K, N] -> [.., M, N]; trans_* read the last two dims swapped. Accumulator:
// input 2. bf16: operands are rounded to it, sums are not.
ValueId matmul(Builder& b, ValueId x, ValueId y, bool trans_x = false, bool trans_y = false,
               DType rounded = DType::f32);  // bf16, f16: operands are, sums are not
// Rows of x [R, ...] by ids i32[N] -> [N, ...]; ids < 0 give zeros.
ValueId gather_rows(Builder& b, ValueId x, ValueId ids);
// A matrix [N,K] that is kept in few bits (block_schemes.h), as an element type.
struct InBlocks {
  std::string scheme;
  ValueId payload, scales = kNoValue, nested_scales = kNoValue, offset = kNoValue;
};
ValueId dequantize(Builder& b, const InBlocks& w, DType dtype = DType::f32);
// Random keep masks (bool), Philox4x32-10 as base/core/philox.h defines them. rng i64[2] = {seed,
// step}; `key` names the place (a scope name, hashed).
ValueId dropout_mask(Builder& b, ValueId rng, ValueId sample_ids, ValueId positions, double p,
                     int64_t channels, const std::string& key);  // [T, channels]
ValueId attention_dropout_mask(Builder& b, ValueId rng, ValueId sample_ids, ValueId cu_q,
                               ValueId cu_k, double p, int64_t heads, int64_t tk,
                               const std::string& key);  // [H, Tq, Tk], true outside the segments
// Normal numbers that are others after each `period` steps, by Philox from `key`; step i64[], from
// 1.
ValueId random_normal(Builder& b, ValueId step, const Type& type, double std, int64_t period,
                      int64_t key);
// x as bf16, rounded at random by Philox; step i64[], `first`: where x begins in its tensor.
ValueId round_stochastic(Builder& b, ValueId x, ValueId step, int64_t key, int64_t first = 0);
// f32 as halves, or with `joined` back; the upper halves of what is kept this way, bf16, a view.
ValueId halves(Builder& b, ValueId x, bool joined);
ValueId upper_half(Builder& b, ValueId x);
ValueId scatter_add_rows(
    Builder& b, ValueId ids, ValueId dy,
    int64_t rows);  // [T] i32, [T,C] -> [rows,C]; accumulator: input 2; ids < 0 are skipped
// The k largest of each row of x [T,C], largest first -> values [T,k], columns i32[T,k]; of equal ones the
// first comes first.
struct TopK {
  ValueId values, columns;
};
TopK top_k(Builder& b, ValueId x, int64_t k);
// Rows sorted by their group: ids i32[N] in 0..groups-1 -> rows i32[N] (the row at each place, over `each`),
// places i32[N] (the place of each row), starts i32[groups+1] (the first place of each group), groups i32[N] (the
// group of each place).
struct Groups {
  ValueId rows, places, starts, groups;
};
Groups group_rows(Builder& b, ValueId ids, int64_t groups, int64_t each = 1);
// Each group's rows of x [N,K] times its matrix of w [G,K,M] ([G,M,K] with trans_w) -> [N,M].
ValueId grouped_matmul(Builder& b, ValueId x, ValueId w, ValueId starts, bool trans_w = false,
                       DType rounded = DType::f32);
// The sums of outer products of each group's rows of x [N,K] and y [N,M] -> [G,K,M]. Accumulator: input 3.
ValueId grouped_outer(Builder& b, ValueId x, ValueId y, ValueId starts, DType rounded = DType::f32);
// bitsandbytes' 8-bit numbers: x -> codes u8 of its shape, absmax of each 256 elements; and back.
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
ValueId softmax(Builder& b, ValueId x);  // of rows; in f32 where x is kept in 16 bits
ValueId activation(Builder& b, ValueId x,
                   const std::string& kind);  // one of the four above, or "none"
ValueId activation_grad(Builder& b, ValueId x, ValueId dy,
                        const std::string& kind);                         // op "activation_grad"
ValueId gate(Builder& b, ValueId a, ValueId x, const std::string& kind);  // activation(a) * x
// grouped_matmul with the matrices of all groups in blocks, one after the other: [G*M,K].
ValueId grouped_blocks(Builder& b, ValueId x, const InBlocks& w, ValueId starts,
                       bool trans_w = false, DType rounded = DType::f32);
// y[T,N] = act(x[T,K] W + bias[N]) + residual[T,N]; W is [K,N], or [N,K] when trans_w. Inputs: x,
// w, bias?, residual?. Attribute save_pre adds output 1: the value before the activation (which
// gradients need).
struct LinearOptions {
  ValueId bias = kNoValue;
  ValueId residual = kNoValue;
  bool trans_w = false;
  std::string act = "none";
  DType rounded = DType::f32;  // bf16, f16: x and W are, sums are not
};
ValueId linear(Builder& b, ValueId x, ValueId w, const LinearOptions& o = {});
// Column sums: [T,N] -> [N]. Accumulator: input 1.
ValueId sum_rows(Builder& b, ValueId x);
struct Norm {
  ValueId y, mean, rstd;
};
Norm layer_norm(Builder& b, ValueId x, ValueId gamma, ValueId beta,
                double eps);  // over the last axis of [T,C]; mean, rstd [T]
Norm rms_norm(Builder& b, ValueId x, ValueId gamma, double eps);  // mean = kNoValue
ValueId embedding(Builder& b, ValueId table, ValueId ids);        // [V,C], i32[T] -> [T,C]
// y = dropout(x) + residual?; inputs x, rng, sample_ids i64[T], positions i32[T], residual?
ValueId dropout(Builder& b, ValueId x, ValueId rng, ValueId sample_ids, ValueId positions, double p,
                const std::string& key, ValueId residual = kNoValue);
// Rotary positions, halves convention of Transformers' Llama: x [T,H*D], positions i32[T],
// inv_freq f32[D/2] -> same shape. Attribute inverse turns the other way (its own gradient).
ValueId rope(Builder& b, ValueId x, ValueId positions, ValueId inv_freq, int64_t heads,
             double attention_scaling = 1.0);
// Variable-length attention. q [Tq,H*D]; k, v [Tk,G*D]; or one fused q = [T,(H+2G)*D] with k, v
// absent. cu_q, cu_k i32[S+1]. Paged: k, v are caches [pages, page, G*D], block_table i32[S,B] and
// the lengths come from cu_k. Causal aligns the ends of q and k. Outputs: out [Tq,H*D], lse [H,Tq].
// bias [H,2*reach-1]: bias[h, (position of key) - (position of query) + reach - 1] is added to the
// scaled score; positions count so that the ends of a segment's queries and keys are aligned. No
// segment may be longer than reach. softcap c > 0: scaled scores s become c tanh(s / c) before the
// bias.
struct AttentionInputs {
  ValueId q, k = kNoValue, v = kNoValue, cu_q, cu_k;
  ValueId block_table = kNoValue, rng = kNoValue, sample_ids = kNoValue;  // sample_ids i64[Tq]
  ValueId bias = kNoValue;
  ValueId sinks = kNoValue;  // [H]: a score of each head without a value; no bias beside it
};
struct AttentionOptions {
  int64_t heads = 1, kv_heads = 1, window = 0;
  bool causal = true;
  double scale = 1, dropout = 0;
  std::string key;  // place for dropout
  double softcap = 0;
};
struct Attention {
  ValueId out, lse;
};
Attention attention(Builder& b, const AttentionInputs& in, const AttentionOptions& o);
// Attention with relative positions apart from contents (DeBERTa, arXiv 2006.03654): q, k, v [T,H*D];
// position_keys, position_queries [R,H*D], one of them may be absent; row_of i32[2*reach-1]: their row
// for a key d places before its query is row_of[d + reach - 1]. cu i32[S+1]; no segment may be longer
// than reach. Outputs: out [T,H*D], lse [H,T].
struct DisentangledInputs {
  ValueId q, k, v, position_keys = kNoValue, position_queries = kNoValue, row_of, cu;
  ValueId rng = kNoValue, sample_ids = kNoValue;  // of dropout
};
struct DisentangledOptions {
  int64_t heads = 1;
  double scale = 1, dropout = 0;
  std::string key;  // place for dropout
};
Attention disentangled_attention(Builder& b, const DisentangledInputs& in,
                                 const DisentangledOptions& o);
// y[t] = sum over j of weights[t,j] x[places[t * k + j]]; x [N,C], places i32[N], weights [T,k], N = T * k ->
// [T,C]
ValueId combine_rows(Builder& b, ValueId x, ValueId places, ValueId weights);
// Writes rows of x [T,C] into cache [pages, page, C] at slots i32[T] (page*size + offset; < 0:
// skipped).
ValueId cache_write(Builder& b, ValueId cache, ValueId x, ValueId slots);
// A filter of K taps for each channel, over the tokens of each segment by itself: x [T,C], w [C,K], bias [C]
// or none, cu i32[S+1] -> y [T,C]; the last tap is the token's own. `state` [S,(K-1)*C] or none: the rows
// before each segment; its new version is then a result.
struct CausalConv {
  ValueId y, state = kNoValue;
};
CausalConv causal_conv1d(Builder& b, ValueId x, ValueId w, ValueId bias, ValueId cu,
                         ValueId state = kNoValue);
// A primitive: the gated delta rule (arXiv 2412.06464) over the tokens of each segment by itself. q, k
// [T,G*D], v [T,H*E], decay and beta [T,H], cu i32[S+1] -> out [T,H*E]; each of the G heads of keys serves
// H/G heads of values. `state` [S,H*D*E] or none: the state before each segment; the state after it is then
// a result.
struct DeltaRuleInputs {
  ValueId q, k, v, decay, beta, cu, state = kNoValue;
};
struct DeltaRule {
  ValueId out, state = kNoValue;
};
DeltaRule gated_delta_rule(Builder& b, const DeltaRuleInputs& in, int64_t heads, int64_t key_heads);
// Loss of a language-model head (or a classifier) without full logits. x [T,C], w [V,C], labels
// i32[T] (-100: ignored), scale [], bias [V] or none: loss = scale * sum nll. If gradients are
// requested, dx, dw and dbias are computed in the same pass (three matmuls); input 4 accumulates
// dw. Outputs: loss [], nll [T], correct i32[T] (argmax = label), and with the attributes of these
// names dw [V,C], dx [T,C], dbias [V]. smoothing e: the label stands for (1-e) onehot + e/V, the
// rule of Transformers' LabelSmoother. softcap c > 0: logits z become c tanh(z / c), with its
// gradient.
struct CrossEntropy {
  ValueId loss, nll, correct, dx, dw, dbias;
};
CrossEntropy linear_cross_entropy(Builder& b, ValueId x, ValueId w, ValueId labels, ValueId scale,
                                  bool grads, double smoothing = 0, ValueId bias = kNoValue,
                                  double softcap = 0);
// Sums of squares of n tensors -> f64[n]; of one -> f64[].
ValueId sum_squares(Builder& b, const Values& tensors);
ValueId sum_squares(Builder& b, ValueId tensor);
// The norm of gradients by the sums of their squares f64[n], and what they are multiplied with so that it is at
// most max_norm (0: any). scale is NaN unless the norm and `loss` are finite. loss_scale, loss: may be absent.
struct Clip {
  ValueId norm, scale;
};
Clip clip_scale(Builder& b, ValueId squares, ValueId loss_scale, ValueId loss, double max_norm);
// One step of an optimizer over all tensors; `rule` is one of the ops adamw, adamw_8bit, sgd,
// adagrad, rmsprop, lion, lion_8bit, lamb, lars, adafactor, apollo_adamw, whose files say their formula,
// states and attributes. `states`: what the rule keeps, one list after another. lr f64[], step
// i64[] (1 for the first), g_scale f64[] (times every gradient). Returns p' and the new states in
// the order of the operands.
struct UpdateLists {
  Values p, g, states;
  ValueId lr = kNoValue, step = kNoValue, g_scale = kNoValue;
  std::vector<int64_t> decay;  // 0|1 for each tensor: takes attribute weight_decay; empty: all
  std::vector<int64_t> keys =
      {};  // for each tensor: names its random numbers, where the rule has some
  std::vector<int64_t> round_keys =
      {};                          // the same for the rounding of p' to bf16; empty: to nearest
  std::vector<int64_t> rows = {};  // [first, end] of the only tensor that are updated; empty: all
};
Values update(Builder& b, const std::string& rule, const UpdateLists& lists, Attrs attrs);

// ---- collectives: done with the same node of every other rank, on the lane comm ----------------
// The rows of each tensor that each rank has (collective_parts.h).
struct Split {
  Share share;
  std::vector<int64_t> units = {};  // for each tensor: rows that stay together; empty: 1
  std::vector<int64_t> owners =
      {};              // for each tensor: the rank that has all of it, or -1; empty: -1
  int64_t copies = 1;  // fold_units: ranks one after another whose terms are the same
  int64_t parts = 0;   // fold_units: ranks one after another that cut the rows; 0: all
};
Values all_reduce(Builder& b, const Values& tensors, const Share& share);  // sums over all ranks
Values reduce_scatter(Builder& b, const Values& tensors,
                      const Split& split);  // this rank's rows of sums
// This rank's rows of sums + the terms of ranks 0, 1, ..., present - 1, in this order; `sums` may be empty.
Values fold_units(Builder& b, const Values& terms, const Values& sums, ValueId present,
                  const Split& split);
Values all_gather(Builder& b, const Values& parts, const std::vector<int64_t>& rows,
                  const Split& split);  // the whole tensors, of `rows` rows

}  // namespace ops
}  // namespace hone

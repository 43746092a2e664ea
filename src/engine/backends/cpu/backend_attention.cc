// attention, its gradient and the cache on the fused kernels.
#include <algorithm>
#include <limits>

#include "engine/backends/cpu/backend_support.h"
#include "engine/backends/cpu/kernels/attention.h"

namespace hone::cpu {
namespace {

// Indices of the operands that attention and its gradient share; indices of absent ones are not
// used.
struct Slots {
  explicit Slots(const NodeView& n)
      : q(n.slot("q")),
        k(n.slot("k")),
        v(n.slot("v")),
        cu_q(n.slot("cu_q")),
        cu_k(n.slot("cu_k")),
        block_table(n.slot("block_table")),
        rng(n.slot("rng")),
        sample_ids(n.slot("sample_ids")),
        bias(n.slot("bias")) {}
  size_t q, k, v, cu_q, cu_k, block_table, rng, sample_ids, bias;
};

struct Shapes {
  int64_t sequences, tokens_q, tokens_k, heads, kv_heads, head_dim, queries,
      keys;       // queries, keys: row lengths
  int64_t reach;  // 0: no bias
  bool fused, random;
};

Shapes shapes_of(const NodeView& n) {
  Shapes s;
  s.heads = n.integer("heads");
  s.kv_heads = n.integer("kv_heads");
  s.fused = !n.has("k");
  const int64_t width = n.in("q").shape[1];
  s.head_dim = s.fused ? width / (s.heads + 2 * s.kv_heads) : width / s.heads;
  s.queries = s.heads * s.head_dim;
  s.keys = s.kv_heads * s.head_dim;
  s.sequences = n.in("cu_q").count() - 1;
  s.tokens_q = n.in("q").shape[0];
  s.tokens_k = s.fused ? s.tokens_q : n.in("k").shape[0];
  s.reach = n.has("bias") ? (n.in("bias").shape[1] + 1) / 2 : 0;
  s.random = n.has("rng") && n.real("dropout") > 0;
  return s;
}

Attention describe(const NodeView& n, const Shapes& s) {
  Attention a;
  a.sequences = s.sequences;
  a.tokens_q = s.tokens_q;
  a.tokens_k = s.tokens_k;
  a.heads = s.heads;
  a.kv_heads = s.kv_heads;
  a.head_dim = s.head_dim;
  a.scale = static_cast<float>(n.real("scale"));
  a.causal = n.flag("causal");
  a.window = n.integer("window");
  a.softcap = static_cast<float>(n.real("softcap"));
  a.reach = s.reach;
  a.dropout = s.random ? n.real("dropout") : 0;
  a.first_head = n.integer("first_head");
  return a;
}

// Slices of one [T,(H+2G)D] buffer, or three buffers.
template <class T>
void place_qkv(const Shapes& s, T* first, T* second, T* third, Heads<T>& q, Heads<T>& k,
               Heads<T>& v) {
  const int64_t row = s.queries + 2 * s.keys;
  if (s.fused) {
    q = {first, row, s.head_dim};
    k = {first + s.queries, row, s.head_dim};
    v = {first + s.queries + s.keys, row, s.head_dim};
  } else {
    q = {first, s.queries, s.head_dim};
    k = {second, s.keys, s.head_dim};
    v = {third, s.keys, s.head_dim};
  }
}

// The kernel wants the sample of each sequence, the op has it for each token.
void first_samples(const int32_t* cu, const int64_t* of_token, int64_t sequences, int64_t tokens,
                   int64_t* of_sequence) {
  for (int64_t i = 0; i < sequences; ++i) of_sequence[i] = cu[i] < tokens ? of_token[cu[i]] : 0;
}

// A bias that is too short would be read beyond its ends.
void check_reach(const Shapes& s, const int32_t* cu) {
  for (int64_t i = 0; s.reach > 0 && i < s.sequences; ++i)
    HONE_BUG_IF(cu[i + 1] - cu[i] > s.reach,
                "attention: a sequence of {} tokens, a bias that reaches {}", cu[i + 1] - cu[i],
                s.reach);
}

Kernel forward(const NodeView& n, int threads) {
  const Shapes s = shapes_of(n);
  const Slots at(n);
  const Attention base = describe(n, s);
  const uint64_t place = s.random ? scope_hash(n.text("key")) : 0;
  const int64_t samples = whole_lines(s.sequences * 8);
  return {"cpu.attention", samples + attention_workspace_bytes(base, threads),
          [=](const KernelArgs& a) {
            Attention call = base;
            call.cu_q = in_i32(a, at.cu_q);
            call.cu_k = in_i32(a, at.cu_k);
            check_reach(s, call.cu_q);
            check_reach(s, call.cu_k);
            if (s.reach > 0) call.bias = in(a, at.bias);
            place_qkv(s, in(a, at.q), s.fused ? nullptr : in(a, at.k),
                      s.fused ? nullptr : in(a, at.v), call.q, call.k, call.v);
            call.out = {out(a, 0), s.queries, s.head_dim};
            call.lse = out(a, 1);
            if (s.random) {
              auto* ids = static_cast<int64_t*>(a.workspace);
              first_samples(call.cu_q, in_i64(a, at.sample_ids), s.sequences, s.tokens_q, ids);
              call.sample_ids = ids;
              call.key = key_of(a, at.rng, place);
            }
            attention(call, static_cast<char*>(a.workspace) + samples, pool_of(a));
          }};
}

Kernel backward(const NodeView& n, int threads) {
  const Shapes s = shapes_of(n);
  const Slots at(n);
  const size_t saved_out = n.slot("out"), saved_lse = n.slot("lse"), dout = n.slot("dout");
  const Attention base = describe(n, s);
  const uint64_t place = s.random ? scope_hash(n.text("key")) : 0;
  const int64_t samples = whole_lines(s.sequences * 8);
  return {"cpu.attention_grad", samples + attention_backward_workspace_bytes(base, threads),
          [=](const KernelArgs& a) {
            AttentionBackward call;
            call.forward = base;
            Attention& f = call.forward;
            f.cu_q = in_i32(a, at.cu_q);
            f.cu_k = in_i32(a, at.cu_k);
            check_reach(s, f.cu_q);
            check_reach(s, f.cu_k);
            if (s.reach > 0) {
              f.bias = in(a, at.bias);
              call.dbias = out(a, s.fused ? 1 : 3);
            }
            place_qkv(s, in(a, at.q), s.fused ? nullptr : in(a, at.k),
                      s.fused ? nullptr : in(a, at.v), f.q, f.k, f.v);
            f.out = {const_cast<float*>(in(a, saved_out)), s.queries, s.head_dim};
            f.lse = const_cast<float*>(in(a, saved_lse));
            call.dout = {in(a, dout), s.queries, s.head_dim};
            place_qkv(s, out(a, 0), s.fused ? nullptr : out(a, 1), s.fused ? nullptr : out(a, 2),
                      call.dq, call.dk, call.dv);
            if (s.random) {
              auto* ids = static_cast<int64_t*>(a.workspace);
              first_samples(f.cu_q, in_i64(a, at.sample_ids), s.sequences, s.tokens_q, ids);
              f.sample_ids = ids;
              f.key = key_of(a, at.rng, place);
            }
            attention_backward(call, static_cast<char*>(a.workspace) + samples, pool_of(a));
          }};
}

Result<Kernel> paged(const NodeView& n, int threads) {
  if (!n.flag("causal")) return declined(n, "pages are read causally");
  const Shapes s = shapes_of(n);
  const Slots at(n);
  PagedAttention base;
  base.sequences = s.sequences;
  base.blocks = n.in("block_table").shape[1];
  base.page = n.in("k").shape[1];
  base.page_stride = base.page * s.keys;
  base.heads = s.heads;
  base.kv_heads = s.kv_heads;
  base.head_dim = s.head_dim;
  base.scale = static_cast<float>(n.real("scale"));
  base.window = n.integer("window");
  base.softcap = static_cast<float>(n.real("softcap"));
  base.reach = s.reach;
  const int64_t lengths = whole_lines(s.sequences * 4), tokens_q = s.tokens_q, heads = s.heads;
  return Kernel{"cpu.paged_attention", lengths + paged_attention_workspace_bytes(base, threads),
                [=](const KernelArgs& a) {
                  PagedAttention call = base;
                  call.cu_q = in_i32(a, at.cu_q);
                  const int32_t* cu_k = in_i32(a, at.cu_k);
                  auto* length = static_cast<int32_t*>(a.workspace);
                  for (int64_t i = 0; i < s.sequences; ++i) length[i] = cu_k[i + 1] - cu_k[i];
                  call.kv_length = length;
                  check_reach(s, cu_k);
                  if (s.reach > 0) call.bias = in(a, at.bias);
                  call.block_table = in_i32(a, at.block_table);
                  call.q = {in(a, at.q), s.queries, s.head_dim};
                  call.k = {in(a, at.k), s.keys, s.head_dim};
                  call.v = {in(a, at.v), s.keys, s.head_dim};
                  call.out = {out(a, 0), s.queries, s.head_dim};
                  // Rows after the last sequence belong to none.
                  const int64_t used = call.cu_q[s.sequences];
                  std::memset(out(a, 0) + used * s.queries, 0,
                              static_cast<size_t>((tokens_q - used) * s.queries) * sizeof(float));
                  call.lse = out(a, 1);
                  call.tokens_q = tokens_q;
                  std::fill(call.lse, call.lse + heads * tokens_q,
                            -std::numeric_limits<float>::infinity());
                  paged_attention(call, static_cast<char*>(a.workspace) + lengths, pool_of(a));
                }};
}

Kernel cache_write(const NodeView& n, int) {
  const int64_t tokens = n.in(1).shape[0], channels = n.in(1).shape[1], count = n.out(0).count();
  return {"cpu.cache_write", 0, [=](const KernelArgs& a) {
            copy_if_apart(a, 0, 0, count);
            const int32_t* slots = in_i32(a, 2);
            for (int64_t t = 0; t < tokens; ++t)
              if (slots[t] >= 0)
                std::memcpy(out(a, 0) + slots[t] * channels, in(a, 1) + t * channels,
                            static_cast<size_t>(channels) * sizeof(float));
          }};
}

Result<Kernel> any_forward(const NodeView& n, int threads) {
  if (n.has("bias") && n.real("softcap") > 0) return declined(n, "a bias and a softcap");
  return n.has("block_table") ? paged(n, threads) : Result<Kernel>(forward(n, threads));
}

Result<Kernel> any_backward(const NodeView& n, int threads) {
  if (n.flag("sums")) return declined(n, "the kernel makes the gradients alone");
  if (n.has("bias") && n.real("softcap") > 0) return declined(n, "a bias and a softcap");
  if (n.has("block_table")) return declined(n, "pages have no gradient");
  if (n.has("bias") && n.real("scale") == 0) return declined(n, "a bias and scale 0");
  return backward(n, threads);
}

}  // namespace

Makers attention_makers() {
  return {{"attention", for_f32(any_forward)},
          {"attention_grad", for_f32(any_backward)},
          {"cache_write", for_f32(cache_write)}};
}

}  // namespace hone::cpu

#include "engine/backends/cpu/kernels/attention.h"

#include "engine/backends/cpu/isa/kernels_test.h"

namespace hone::cpu {
namespace {

struct Setup {
  std::vector<int32_t> cu_q, cu_k;
  int64_t heads, kv_heads, dim;
  bool causal;
  int64_t window;
  double dropout;
  int64_t reach = 0;
};

struct Buffers {
  explicit Buffers(const Setup& s)
      : tq(s.cu_q.back() + 2),
        tk(s.cu_k.back() + 3),
        row(s.heads * s.dim + 2 * s.kv_heads * s.dim),
        q(random_floats(std::max(tq, tk) * row, 1, -2, 2)),
        dout(random_floats(tq * s.heads * s.dim, 2)),
        out(tq * s.heads * s.dim, 9),
        lse(s.heads * tq, 9),
        grad(std::max(tq, tk) * row, 9),
        bias(random_floats(s.heads * std::max<int64_t>(0, 2 * s.reach - 1), 3, -3, 3)),
        dbias(bias.size(), 9) {
    const int64_t c = s.heads * s.dim, kc = s.kv_heads * s.dim;
    for (size_t i = 0; i + 1 < s.cu_q.size(); ++i) ids.push_back((3ll << 32) + 7 * i);
    a = {.sequences = static_cast<int64_t>(s.cu_q.size()) - 1,
         .cu_q = s.cu_q.data(),
         .cu_k = s.cu_k.data(),
         .tokens_q = tq,
         .tokens_k = tk,
         .heads = s.heads,
         .kv_heads = s.kv_heads,
         .head_dim = s.dim,
         .q = {q.get(), row, s.dim},
         .k = {q.get() + c, row, s.dim},
         .v = {q.get() + c + kc, row, s.dim},
         .scale = 0.3f,
         .causal = s.causal,
         .window = s.window,
         .bias = bias.get(),
         .reach = s.reach,
         .dropout = s.dropout,
         .key = {11, 22},
         .sample_ids = ids.data(),
         .out = {out.get(), c, s.dim},
         .lse = lse.get()};
    b = {.forward = a,
         .dout = {dout.get(), c, s.dim},
         .dq = {grad.get(), row, s.dim},
         .dk = {grad.get() + c, row, s.dim},
         .dv = {grad.get() + c + kc, row, s.dim},
         .dbias = dbias.get()};
  }
  int64_t tq, tk, row;
  Guarded q, dout, out, lse, grad, bias, dbias;
  std::vector<int64_t> ids;
  Attention a;
  AttentionBackward b;
};

struct Expected {
  std::vector<double> out, lse, grad, bias;
};

Expected expect(const Buffers& f) {
  const Attention& a = f.a;
  const int64_t c = a.heads * a.head_dim, kc = a.kv_heads * a.head_dim;
  Expected e{std::vector<double>(f.tq * c), std::vector<double>(a.heads * f.tq, 0),
             std::vector<double>(std::max(f.tq, f.tk) * f.row), std::vector<double>(f.bias.size())};
  for (int64_t s = 0; s < a.sequences; ++s)
    for (int64_t h = 0; h < a.heads; ++h) {
      const int64_t lq = a.cu_q[s + 1] - a.cu_q[s], lk = a.cu_k[s + 1] - a.cu_k[s];
      const int64_t hk = h / (a.heads / a.kv_heads), o = lk - lq;
      for (int64_t i = 0; i < lq; ++i) {
        const int64_t t = a.cu_q[s] + i;
        std::vector<double> p(lk), dp(lk), m(lk, 1);
        double sum = 0, top = -1e300;
        auto column = [&](int64_t j) { return h * (2 * a.reach - 1) + j - (i + o) + a.reach - 1; };
        auto sees = [&](int64_t j) {
          return (!a.causal || j <= i + o) &&
                 (a.window == 0 || (j > i + o - a.window && (a.causal || j < i + o + a.window)));
        };
        for (int64_t j = 0; j < lk; ++j) {
          for (int64_t d = 0; d < a.head_dim; ++d)
            p[j] += a.scale * double{a.q.data[t * f.row + h * a.head_dim + d]} *
                    a.k.data[(a.cu_k[s] + j) * f.row + hk * a.head_dim + d];
          if (a.reach > 0 && sees(j)) p[j] += a.bias[column(j)];
          if (sees(j)) top = std::max(top, p[j]);
          if (a.dropout > 0)
            m[j] = attention_dropout_word(a.key, f.ids[s], h, i, j) >= dropout_threshold(a.dropout)
                       ? 1 / (1 - a.dropout)
                       : 0;
        }
        for (int64_t j = 0; j < lk; ++j) sum += p[j] = sees(j) ? std::exp(p[j] - top) : 0;
        e.lse[h * f.tq + t] = sum > 0 ? top + std::log(sum) : -INFINITY;
        double delta = 0;
        for (int64_t j = 0; j < lk; ++j) {
          p[j] = sum > 0 ? p[j] / sum : 0;
          for (int64_t d = 0; d < a.head_dim; ++d) {
            const int64_t kv = (a.cu_k[s] + j) * f.row + hk * a.head_dim + d;
            e.out[t * c + h * a.head_dim + d] += p[j] * m[j] * a.v.data[kv];
            const double g = f.b.dout.data[t * c + h * a.head_dim + d];
            dp[j] += m[j] * g * a.v.data[kv];
            e.grad[kv + c + kc] += p[j] * m[j] * g;
          }
          delta += p[j] * dp[j];
        }
        for (int64_t j = 0; j < lk; ++j) {
          if (a.reach > 0 && sees(j)) e.bias[column(j)] += p[j] * (dp[j] - delta);
          for (int64_t d = 0; d < a.head_dim; ++d) {
            const double ds = p[j] * (dp[j] - delta) * a.scale;
            const int64_t k = (a.cu_k[s] + j) * f.row + hk * a.head_dim + d;
            const int64_t q = t * f.row + h * a.head_dim + d;
            e.grad[q] += ds * a.k.data[k];
            e.grad[k + c] += ds * a.q.data[q];
          }
        }
      }
    }
  return e;
}

void check(const Setup& s) {
  SCOPED_TRACE(fmt::format("q {} k {} heads {}/{} dim {} causal {} window {} dropout {} reach {}",
                           s.cu_q, s.cu_k, s.heads, s.kv_heads, s.dim, s.causal, s.window,
                           s.dropout, s.reach));
  Buffers f(s);
  const Expected e = expect(f);
  std::vector<float> first;
  for (int threads : {1, 2, 7}) {
    ThreadPool pool(threads);
    Buffers g(s);
    Guarded w(std::max(attention_workspace_bytes(g.a, threads),
                       attention_backward_workspace_bytes(g.a, threads)) /
                  4,
              NAN);
    attention(g.a, w.get(), pool);
    EXPECT_LT(relative_error(g.out.get(), e.out), 3e-6);
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t t = 0; t < s.cu_q.back(); ++t) {
        const double want = e.lse[h * g.tq + t], got = g.lse[h * g.tq + t];
        if (std::isinf(want)) {
          EXPECT_EQ(got, want);
        } else {
          EXPECT_NEAR(got, want, 1e-5);
        }
      }
    attention_backward(g.b, w.get(), pool);
    // rows of q beyond tokens_q, and of k beyond tokens_k, belong to nobody
    for (int64_t t = 0; t < std::max(g.tq, g.tk); ++t)
      for (int64_t x = 0; x < g.row; ++x)
        if (t >= (x < s.heads * s.dim ? g.tq : g.tk)) g.grad[t * g.row + x] = 0;
    EXPECT_LT(relative_error(g.grad.get(), e.grad), 3e-6);
    EXPECT_LT(relative_error(g.dbias.get(), e.bias), 5e-6);
    EXPECT_TRUE(w.intact() && g.dbias.intact() && g.out.intact() && g.lse.intact() &&
                g.grad.intact());
    std::vector<float> all(g.out.get(), g.out.get() + g.out.size());
    all.insert(all.end(), g.grad.get(), g.grad.get() + g.grad.size());
    all.insert(all.end(), g.dbias.get(), g.dbias.get() + g.dbias.size());
    if (first.empty()) first = all;
    EXPECT_EQ(std::memcmp(first.data(), all.data(), all.size() * 4), 0) << threads << " threads";
  }
}

TEST(Attention, MatchesDoubleLoops) {
  const std::vector<int32_t> ragged = {0, 0, 1, 18, 18, 83, 150},
                             other = {0, 5, 5, 40, 41, 43, 130};
  for_each_isa([&] {
    check({ragged, ragged, 2, 2, 64, true, 0, 0});
    check({ragged, ragged, 4, 2, 16, true, 0, 0.2});
    check({ragged, ragged, 2, 1, 20, false, 0, 0.1});
    check({{0, 200}, {0, 200}, 1, 1, 40, true, 50, 0});
    check({{0, 130}, {0, 130}, 2, 1, 8, true, 3, 0.3});
    check({{0, 70}, {0, 70}, 1, 1, 33, false, 33, 0});
    check({{0, 130, 190}, {0, 130, 190}, 2, 1, 8, false, 3, 0.3});
    check({{0, 333}, {0, 333}, 2, 2, 16, false, 65, 0, 333});
    check({ragged, other, 2, 2, 24, false, 20, 0});
    check({ragged, other, 2, 2, 24, true, 0, 0});
    check({ragged, other, 2, 2, 32, false, 0, 0});
    check({ragged, ragged, 2, 2, 64, false, 0, 0, 67});
    check({ragged, ragged, 4, 2, 20, true, 0, 0.2, 200});
    check({{0, 1, 301}, {0, 1, 301}, 1, 1, 16, false, 0, 0, 300});
    check({{0, 333}, {0, 333}, 3, 3, 8, true, 50, 0.1, 333});
    check({ragged, other, 2, 1, 24, true, 0, 0, 90});
    check({ragged, other, 2, 2, 24, false, 0, 0, 87});
    check({{0, 40, 1100}, {0, 40, 1100}, 2, 1, 8, true, 0, 0.1});
  });
}

TEST(Attention, PagedMatchesPacked) {
  for_each_isa([] {
    for (auto [window, reach] : {std::pair<int64_t, int64_t>{0, 0}, {9, 0}, {0, 40}, {9, 50}}) {
      const int64_t heads = 4, kv = 2, dim = 24, page = 8, blocks = 5;
      const std::vector<int32_t> cu_q = {0, 1, 1, 4, 5}, length = {17, 6, 40, 1};
      const std::vector<int32_t> table = {3, 9, 1, 0, 0, 2,  0, 0, 0, 0,
                                          4, 5, 6, 7, 8, 10, 0, 0, 0, 0};
      const int64_t page_stride = page * 2 * kv * dim + 6;
      Guarded cache = random_floats(11 * page_stride, 3), q = random_floats(5 * heads * dim, 4);
      Guarded out(5 * heads * dim, 9), bias = random_floats(heads * (2 * reach + 1), 5, -3, 3);
      PagedAttention p{.sequences = 4,
                       .cu_q = cu_q.data(),
                       .kv_length = length.data(),
                       .block_table = table.data(),
                       .blocks = blocks,
                       .page = page,
                       .page_stride = page_stride,
                       .heads = heads,
                       .kv_heads = kv,
                       .head_dim = dim,
                       .q = {q.get(), heads * dim, dim},
                       .k = {cache.get(), 2 * kv * dim, dim},
                       .v = {cache.get() + kv * dim, 2 * kv * dim, dim},
                       .scale = 0.4f,
                       .window = window,
                       .bias = reach > 0 ? bias.get() : nullptr,
                       .reach = reach,
                       .out = {out.get(), heads * dim, dim}};
      ThreadPool pool(3);
      Guarded w(paged_attention_workspace_bytes(p, 3) / 4, NAN);
      paged_attention(p, w.get(), pool);
      // the same keys packed one sequence after the other
      std::vector<int32_t> cu_k = {0};
      for (int32_t l : length) cu_k.push_back(cu_k.back() + l);
      const int64_t row = 2 * kv * dim;
      Guarded packed(cu_k.back() * row), want(5 * heads * dim);
      for (int s = 0; s < 4; ++s)
        for (int64_t j = 0; j < length[s]; ++j)
          std::memcpy(packed.get() + (cu_k[s] + j) * row,
                      cache.get() + table[s * blocks + j / page] * page_stride + j % page * row,
                      row * 4);
      Attention a{.sequences = 4,
                  .cu_q = cu_q.data(),
                  .cu_k = cu_k.data(),
                  .tokens_q = 5,
                  .tokens_k = cu_k.back(),
                  .heads = heads,
                  .kv_heads = kv,
                  .head_dim = dim,
                  .q = p.q,
                  .k = {packed.get(), row, dim},
                  .v = {packed.get() + kv * dim, row, dim},
                  .scale = 0.4f,
                  .causal = true,
                  .window = window,
                  .bias = bias.get(),
                  .reach = reach,
                  .out = {want.get(), heads * dim, dim}};
      Guarded w2(attention_workspace_bytes(a, 3) / 4);
      attention(a, w2.get(), pool);
      EXPECT_LT(
          relative_error(out.get(), std::vector<double>(want.get(), want.get() + want.size())),
          2e-6);
      EXPECT_TRUE(out.intact() && w.intact());
    }
  });
}

// Beams: sequences of one query that share pages, some of them all, some only the first.
TEST(Attention, PagesReadTogetherGiveTheBitsOfEachSequenceAlone) {
  for_each_isa([] {
    const int64_t sequences = 13, heads = 4, kv = 2, dim = 20, page = 8, blocks = 3, reach = 30;
    std::vector<int32_t> cu_q = {0}, length, table;
    for (int32_t s = 0; s < sequences; ++s) {
      cu_q.push_back(s + 1);
      length.push_back(s == 4 ? 5 : 18 + s / 10);
      for (int32_t p : {s / 10, 2 + s / 3, 8 + s}) table.push_back(p);
    }
    const int64_t row = 2 * kv * dim;
    Guarded cache = random_floats(22 * page * row, 3),
            q = random_floats(sequences * heads * dim, 4),
            bias = random_floats(heads * (2 * reach - 1), 5);
    for (const int64_t window : {0, 7})
      for (const int threads : {1, 2, 3}) {
        ThreadPool pool(threads);
        Guarded out(sequences * heads * dim), alone(heads * dim);
        PagedAttention p{.sequences = sequences,
                         .cu_q = cu_q.data(),
                         .kv_length = length.data(),
                         .block_table = table.data(),
                         .blocks = blocks,
                         .page = page,
                         .page_stride = page * row,
                         .heads = heads,
                         .kv_heads = kv,
                         .head_dim = dim,
                         .q = {q.get(), heads * dim, dim},
                         .k = {cache.get(), row, dim},
                         .v = {cache.get() + kv * dim, row, dim},
                         .scale = 0.3f,
                         .window = window,
                         .bias = bias.get(),
                         .reach = reach,
                         .out = {out.get(), heads * dim, dim}};
        Guarded work(paged_attention_workspace_bytes(p, threads) / 4, NAN);
        paged_attention(p, work.get(), pool);
        EXPECT_TRUE(out.intact() && work.intact());
        p.sequences = 1;
        p.out.data = alone.get();
        for (int64_t s = 0; s < sequences; ++s) {
          p.q.data = q.get() + s * heads * dim;
          p.kv_length = length.data() + s;
          p.block_table = table.data() + s * blocks;
          paged_attention(p, work.get(), pool);
          EXPECT_EQ(std::memcmp(alone.get(), out.get() + s * heads * dim, heads * dim * 4), 0) << s;
        }
      }
  });
}

}  // namespace
}  // namespace hone::cpu

// Disentangled attention and its gradients against double loops.
#include "engine/backends/cpu/kernels/disentangled.h"

#include <algorithm>

#include "engine/backends/cpu/isa/kernels_test.h"

namespace hone::cpu {
namespace {

struct RelativeCase {
  std::vector<int32_t> cu;
  int64_t heads, dim, rows;
  bool keys, queries;
  double dropout = 0;
};

// Everything that a call reads and writes, with two tokens after the last sequence.
struct RelativeBuffers {
  explicit RelativeBuffers(const RelativeCase& c)
      : tokens(c.cu.back() + 2),
        width(c.heads * c.dim),
        reach(tokens),
        in(random_floats(4 * tokens * width, 1, -1, 1)),
        positions(random_floats(2 * c.rows * width, 2, -1, 1)),
        out(tokens * width),
        lse(c.heads * tokens),
        grads(3 * tokens * width),
        position_grads(2 * c.rows * width) {
    for (int64_t x = 0; x < 2 * reach - 1; ++x)  // steps of three places, the ends alike
      row_of.push_back(static_cast<int32_t>(
          std::clamp<int64_t>(c.rows / 2 + (x - reach + 1) / 3, 0, c.rows - 1)));
    for (size_t s = 0; s + 1 < c.cu.size(); ++s) samples.push_back(static_cast<int64_t>(s * 3 + 1));
    Disentangled& f = b.forward;
    f = {.sequences = static_cast<int64_t>(c.cu.size()) - 1,
         .tokens = tokens,
         .heads = c.heads,
         .head_dim = c.dim,
         .rows = c.rows,
         .reach = reach,
         .cu = c.cu.data(),
         .q = in.get(),
         .k = in.get() + tokens * width,
         .v = in.get() + 2 * tokens * width,
         .position_keys = c.keys ? positions.get() : nullptr,
         .position_queries = c.queries ? positions.get() + c.rows * width : nullptr,
         .row_of = row_of.data(),
         .scale = 0.3f,
         .dropout = c.dropout,
         .key = {11, 22},
         .sample_ids = samples.data(),
         .out = out.get(),
         .lse = lse.get()};
    b.dout = in.get() + 3 * tokens * width;
    b.dq = grads.get();
    b.dk = grads.get() + tokens * width;
    b.dv = grads.get() + 2 * tokens * width;
    if (c.keys) b.dposition_keys = position_grads.get();
    if (c.queries) b.dposition_queries = position_grads.get() + c.rows * width;
  }

  int64_t tokens, width, reach;
  Guarded in, positions, out, lse, grads, position_grads;
  std::vector<int32_t> row_of;
  std::vector<int64_t> samples;
  DisentangledBackward b;
};

struct RelativeExpected {
  std::vector<double> out, lse, grads, position_grads;
};

RelativeExpected double_loops(const RelativeBuffers& f, const RelativeCase& c) {
  const Disentangled& a = f.b.forward;
  const int64_t n = f.tokens * f.width;
  RelativeExpected e{std::vector<double>(static_cast<size_t>(n)),
                     std::vector<double>(static_cast<size_t>(a.heads * f.tokens), -INFINITY),
                     std::vector<double>(static_cast<size_t>(3 * n)),
                     std::vector<double>(static_cast<size_t>(2 * c.rows * f.width))};
  const auto at = [&](std::vector<double>& v, int64_t i) -> double& {
    return v[static_cast<size_t>(i)];
  };
  for (int64_t s = 0; s < a.sequences; ++s)
    for (int64_t h = 0; h < a.heads; ++h)
      for (int64_t i = 0; i < a.cu[s + 1] - a.cu[s]; ++i) {
        const int64_t length = a.cu[s + 1] - a.cu[s], column = h * a.head_dim,
                      query = (a.cu[s] + i) * f.width + column;
        const auto key = [&](int64_t j) { return (a.cu[s] + j) * f.width + column; };
        const auto row = [&](int64_t j) {
          return a.row_of[i - j + a.reach - 1] * f.width + column;
        };
        std::vector<double> p(static_cast<size_t>(length)), keep(p.size(), 1.0);
        double top = -1e300, sum = 0;
        for (int64_t j = 0; j < length; ++j) {
          double score = 0;
          for (int64_t d = 0; d < a.head_dim; ++d) {
            score += double{a.q[query + d]} * a.k[key(j) + d];
            if (a.position_keys) score += double{a.q[query + d]} * a.position_keys[row(j) + d];
            if (a.position_queries)
              score += double{a.k[key(j) + d]} * a.position_queries[row(j) + d];
          }
          at(p, j) = score * double{a.scale};
          top = std::max(top, at(p, j));
          if (a.dropout > 0)
            at(keep, j) = attention_dropout_word(a.key, a.sample_ids[s], h, i, j) >=
                                  dropout_threshold(a.dropout)
                              ? 1 / (1 - a.dropout)
                              : 0;
        }
        for (double& x : p) sum += x = std::exp(x - top);
        at(e.lse, h * f.tokens + a.cu[s] + i) = top + std::log(sum);
        double delta = 0;
        std::vector<double> dp(p.size());
        for (int64_t j = 0; j < length; ++j) {
          at(p, j) /= sum;
          for (int64_t d = 0; d < a.head_dim; ++d) {
            at(e.out, query + d) += at(p, j) * at(keep, j) * a.v[key(j) + d];
            at(dp, j) += at(keep, j) * double{f.b.dout[query + d]} * a.v[key(j) + d];
            at(e.grads, 2 * n + key(j) + d) += at(p, j) * at(keep, j) * f.b.dout[query + d];
          }
        }
        for (int64_t d = 0; d < a.head_dim; ++d)
          delta += at(e.out, query + d) * f.b.dout[query + d];
        for (int64_t j = 0; j < length; ++j) {
          const double ds = double{a.scale} * at(p, j) * (at(dp, j) - delta);
          for (int64_t d = 0; d < a.head_dim; ++d) {
            at(e.grads, query + d) += ds * a.k[key(j) + d];
            at(e.grads, n + key(j) + d) += ds * a.q[query + d];
            if (a.position_keys) {
              at(e.grads, query + d) += ds * a.position_keys[row(j) + d];
              at(e.position_grads, row(j) + d) += ds * a.q[query + d];
            }
            if (a.position_queries) {
              at(e.grads, n + key(j) + d) += ds * a.position_queries[row(j) + d];
              at(e.position_grads, c.rows * f.width + row(j) + d) += ds * a.k[key(j) + d];
            }
          }
        }
      }
  return e;
}

void check_relative(const RelativeCase& c) {
  SCOPED_TRACE(fmt::format("cu {} heads {} dim {} rows {} keys {} queries {} dropout {}", c.cu,
                           c.heads, c.dim, c.rows, c.keys, c.queries, c.dropout));
  const RelativeExpected want = double_loops(RelativeBuffers(c), c);
  std::vector<float> first;
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    RelativeBuffers f(c);
    Disentangled& a = f.b.forward;
    Guarded w(std::max(disentangled_workspace_bytes(a, threads),
                       disentangled_backward_workspace_bytes(a, threads)) /
              4);
    if (!c.keys || !c.queries)
      std::fill(f.position_grads.get(), f.position_grads.get() + f.position_grads.size(), 0.0f);
    disentangled(a, w.get(), pool);
    EXPECT_LT(relative_error(a.out, want.out), 3e-6);
    for (size_t i = 0; i < want.lse.size(); ++i) {
      const float got = a.lse[i];
      if (std::isinf(want.lse[i]))
        EXPECT_EQ(got, -INFINITY);
      else
        EXPECT_NEAR(got, want.lse[i], 2e-5);
    }
    disentangled_backward(f.b, w.get(), pool);
    EXPECT_LT(relative_error(f.grads.get(), want.grads), 5e-6);
    EXPECT_LT(relative_error(f.position_grads.get(), want.position_grads), 5e-6);
    EXPECT_TRUE(w.intact() && f.out.intact() && f.lse.intact() && f.grads.intact() &&
                f.position_grads.intact());
    std::vector<float> all(f.out.get(), f.out.get() + f.out.size());
    all.insert(all.end(), f.grads.get(), f.grads.get() + f.grads.size());
    all.insert(all.end(), f.position_grads.get(), f.position_grads.get() + f.position_grads.size());
    if (first.empty()) first = all;
    EXPECT_EQ(std::memcmp(first.data(), all.data(), all.size() * 4), 0) << threads << " threads";
  }
}

TEST(Disentangled, MatchesDoubleLoops) {
  const std::vector<int32_t> ragged = {0, 0, 1, 18, 18, 83, 150};
  for_each_isa([&] {
    check_relative({ragged, 2, 64, 16, true, true});
    check_relative({ragged, 3, 20, 40, true, false, 0.2});
    check_relative({ragged, 1, 7, 33, false, true, 0.1});
    check_relative({{0, 200}, 1, 40, 8, true, true, 0.3});
    check_relative({{0, 3, 5}, 2, 16, 1, true, true});
  });
}

// A sequence has the same bits wherever it is.
TEST(Disentangled, SequencesDoNotDependOnOthers) {
  for_each_isa([&] {
    ThreadPool pool(2);
    const RelativeCase first{{0, 50}, 2, 24, 12, true, true},
        both{{0, 50, 90}, 2, 24, 12, true, true};
    RelativeBuffers alone(first), packed(both);
    // The same numbers for the first 50 tokens and for the rows of each distance.
    Disentangled &one = alone.b.forward, &two = packed.b.forward;
    for (int part = 0; part < 3; ++part)
      std::memcpy(packed.in.get() + part * packed.tokens * packed.width,
                  alone.in.get() + part * alone.tokens * alone.width, 50 * 48 * sizeof(float));
    two.position_keys = one.position_keys;
    two.position_queries = one.position_queries;
    Guarded w(disentangled_workspace_bytes(two, 2) / 4);
    disentangled(one, w.get(), pool);
    disentangled(two, w.get(), pool);
    EXPECT_EQ(std::memcmp(one.out, two.out, 50 * 48 * sizeof(float)), 0);
  });
}

}  // namespace
}  // namespace hone::cpu

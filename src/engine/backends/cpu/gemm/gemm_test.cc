#include "engine/backends/cpu/gemm/gemm.h"

#include <fmt/format.h>

#include "engine/backends/cpu/isa/kernels_test.h"

namespace hone::cpu {
namespace {

// Takes a finite x, rounds to nearest even.
uint16_t bf16_bits(float x) {
  uint32_t u;
  std::memcpy(&u, &x, sizeof u);
  return static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
float from_bf16(uint16_t bits) {
  const uint32_t u = static_cast<uint32_t>(bits) << 16;
  float x;
  std::memcpy(&x, &u, sizeof x);
  return x;
}

double activate(Activation a, double x) {
  switch (a) {
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::gelu_erf:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::silu:
      return x / (1 + std::exp(-x));
    default:
      return x;
  }
}

struct Case {
  int64_t m, n, k;
  bool ta, tb, accumulate, epilogue;
  Activation act;
  bool bf16 = false;
};

void check(const Case& c, ThreadPool& pool) {
  SCOPED_TRACE(fmt::format("m {} n {} k {} ta {} tb {} acc {} act {} bf16 {} threads {}", c.m, c.n,
                           c.k, c.ta, c.tb, c.accumulate, static_cast<int>(c.act), c.bf16,
                           pool.size()));
  const int64_t lda = (c.ta ? c.m : c.k) + 3, ldb = (c.tb ? c.k : c.n) + 5, ldc = c.n + 2;
  Guarded a = random_floats((c.ta ? c.k : c.m) * lda, 1);
  Guarded b = random_floats((c.tb ? c.n : c.k) * ldb, 2);
  std::vector<double> wide_a(a.get(), a.get() + a.size()), wide_b(b.get(), b.get() + b.size());
  if (c.bf16)
    for (std::vector<double>* m : {&wide_a, &wide_b})
      for (double& x : *m) x = from_bf16(bf16_bits(static_cast<float>(x)));
  Guarded bias = random_floats(c.n, 3), residual = random_floats(c.m * ldc, 4);
  const Guarded c0 = random_floats(c.m * ldc, 5);
  Guarded pre(c.m * ldc);
  std::vector<double> want(c.m * ldc), want_pre(c.m * ldc);
  Guarded start = c0.size() ? random_floats(c.m * ldc, 5) : Guarded(0);
  for (int64_t i = 0; i < c.m; ++i)
    for (int64_t j = 0; j < ldc; ++j) {
      double s = start[i * ldc + j];
      if (j < c.n) {
        s = c.accumulate ? s : 0;
        for (int64_t k = 0; k < c.k; ++k)
          s += wide_a[c.ta ? k * lda + i : i * lda + k] * wide_b[c.tb ? j * ldb + k : k * ldb + j];
        if (c.epilogue) {
          s += bias[j];
          want_pre[i * ldc + j] = s;
          s = activate(c.act, s) + residual[i * ldc + j];
        }
      }
      want[i * ldc + j] = s;
    }
  Gemm g{.m = c.m,
         .n = c.n,
         .k = c.k,
         .a = a.get(),
         .lda = lda,
         .trans_a = c.ta,
         .b = b.get(),
         .ldb = ldb,
         .trans_b = c.tb,
         .ldc = ldc,
         .accumulate = c.accumulate,
         .bf16 = c.bf16};
  if (c.epilogue) {
    g.bias = bias.get();
    g.act = c.act;
    g.pre = pre.get();
    g.ldpre = ldc;
    g.residual = residual.get();
    g.ldresidual = ldc;
  }
  Guarded packed(pack_b_bytes(c.k, c.n) / 4);
  pack_b(c.k, c.n, b.get(), ldb, c.tb, packed.get(), pool);
  for (const float* p :
       {static_cast<const float*>(nullptr), static_cast<const float*>(packed.get())}) {
    if (p && c.bf16) break;
    Guarded out = random_floats(c.m * ldc, 5);
    g.c = out.get();
    g.packed_b = p;
    Guarded work(gemm_workspace_bytes(g, pool.size()) / 4, NAN);
    gemm(g, work.get(), pool);
    EXPECT_LT(relative_error(out.get(), want), 3e-6) << (p ? "packed" : "plain");
    if (c.epilogue) {
      EXPECT_LT(relative_error(pre.get(), want_pre), 3e-6);
    }
    EXPECT_TRUE(out.intact() && pre.intact() && work.intact() && packed.intact());
  }
}

void check_shapes(bool bf16) {
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    int turn = 0;
    for (int64_t m : {1, 2, 7, 16, 17, 37, 64, 130})
      for (auto [n, k] : {std::pair<int64_t, int64_t>{1, 5}, {48, 16}, {65, 33}, {131, 50}})
        for (bool ta : {false, true})
          for (bool tb : {false, true}) {
            ++turn;
            check({m, n, k, ta, tb, turn % 2 == 0, turn % 3 == 0,
                   static_cast<Activation>(turn / 3 % 5), bf16},
                  pool);
          }
  }
}

TEST(Gemm, MatchesDoubleLoops) {
  for_each_isa([] { check_shapes(false); }, Isa::amx);
}

TEST(GemmBf16, MatchesDoubleLoopsOverRoundedOperands) {
  for_each_isa([] { check_shapes(true); }, Isa::amx);
}

// Narrow B against its values in f32.
void check_narrow(int64_t m, int64_t n, int64_t k, bool trans_b, ThreadPool& pool) {
  SCOPED_TRACE(fmt::format("m {} n {} k {} trans_b {}", m, n, k, trans_b));
  Guarded a = random_floats(m * k, 1), plain = random_floats(n * k, 2), scale = random_floats(n, 3);
  for (const Element type : {Element::bf16, Element::i8}) {
    const int64_t ldb = trans_b ? k : n;
    Guarded wide(n * k), narrow((n * k * (type == Element::i8 ? 1 : 2) + 3) / 4);
    for (int64_t i = 0; i < n * k; ++i) {
      if (type == Element::bf16) {
        const uint16_t bits = bf16_bits(plain.get()[i]);
        reinterpret_cast<uint16_t*>(narrow.get())[i] = bits;
        wide.get()[i] = from_bf16(bits);
      } else {
        const auto q = static_cast<int8_t>((i * 37 + 11) % 255 - 127);
        reinterpret_cast<int8_t*>(narrow.get())[i] = q;
        wide.get()[i] = static_cast<float>(q) * scale.get()[trans_b ? i / k : i % n];
      }
    }
    Gemm g{.m = m,
           .n = n,
           .k = k,
           .a = a.get(),
           .lda = k,
           .b = wide.get(),
           .ldb = ldb,
           .trans_b = trans_b,
           .ldc = n,
           .accumulate = true};
    Guarded want = random_floats(m * n, 4), got = random_floats(m * n, 4);
    g.c = want.get();
    gemm(g, Guarded(gemm_workspace_bytes(g, pool.size()) / 4, NAN).get(), pool);
    g.b = narrow.get();
    g.b_type = type;
    g.b_scale = type == Element::i8 ? scale.get() : nullptr;
    g.c = got.get();
    Guarded work(gemm_workspace_bytes(g, pool.size()) / 4, NAN);
    gemm(g, work.get(), pool);
    const std::vector<double> expected(want.get(), want.get() + m * n);
    EXPECT_LT(relative_error(got.get(), expected), type == Element::i8 ? 1e-4 : 3e-6);
    EXPECT_TRUE(got.intact() && narrow.intact() && work.intact());
  }
}

TEST(Gemm, NarrowWeights) {
  for_each_isa([] {
    ThreadPool pool(2);
    for (int64_t m : {1, 2, 3, 8, 16, 17, 40})
      for (auto [n, k] : {std::pair<int64_t, int64_t>{1, 5}, {48, 16}, {65, 33}, {131, 50}})
        for (bool trans_b : {false, true}) check_narrow(m, n, k, trans_b, pool);
  });
}

// Rows whose largest element is 16383 in each block of k keep their scale: what is left is the
// rounding of sums.
void check_integers(int64_t m, int64_t n, int64_t k, bool trans_b, ThreadPool& pool) {
  SCOPED_TRACE(fmt::format("m {} n {} k {} trans_b {}", m, n, k, trans_b));
  Guarded a(m * k), b((n * k + 3) / 4), scale(n), c(m * n, NAN);
  auto* q = reinterpret_cast<int8_t*>(b.get());
  for (int64_t i = 0; i < m * k; ++i)
    a.get()[i] = static_cast<float>(i % k % 8 == 0 ? 16383 : (i * 7919 + 13) % 32767 - 16383);
  for (int64_t i = 0; i < n * k; ++i) q[i] = static_cast<int8_t>((i * 37 + 11) % 256 - 128);
  for (int64_t j = 0; j < n; ++j) scale.get()[j] = 1.0f / static_cast<float>(1 << j % 5);
  a.get()[k + 3] = INFINITY;  // row 1
  std::vector<double> want(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += double{a.get()[i * k + l]} * q[trans_b ? j * k + l : l * n + j];
      want[static_cast<size_t>(i * n + j)] = i == 1 ? 0 : sum * scale.get()[j];
    }
  Gemm g{.m = m,
         .n = n,
         .k = k,
         .a = a.get(),
         .lda = k,
         .b = q,
         .ldb = trans_b ? k : n,
         .trans_b = trans_b,
         .b_type = Element::i8,
         .b_scale = scale.get(),
         .c = c.get(),
         .ldc = n};
  Guarded work(gemm_workspace_bytes(g, pool.size()) / 4, NAN);
  gemm(g, work.get(), pool);
  for (int64_t j = 0; j < n; ++j) {
    EXPECT_TRUE(std::isnan(c.get()[n + j]));
    c.get()[n + j] = 0;
  }
  EXPECT_LT(relative_error(c.get(), want), m > kGemmSmallRows ? 3e-7 : 3e-6);
  EXPECT_TRUE(c.intact() && b.intact() && work.intact());
}

TEST(Gemm, IntegersAreExact) {
  for_each_isa([] {
    for (const int threads : {1, 3}) {
      ThreadPool pool(threads);
      for (const bool trans_b : {false, true}) {
        check_integers(5, 70, 1111, trans_b, pool);
        check_integers(17, 33, 40, trans_b, pool);
        check_integers(40, 100, 1111, trans_b, pool);
        check_integers(64, 100, 48, trans_b, pool);
        check_integers(130, 49, 2100, trans_b, pool);
      }
    }
  });
}

TEST(Gemm, RowsAreRoundedAlikeWhateverTheirNumber) {
  for_each_isa([] {
    ThreadPool pool(2);
    const int64_t n = 70, k = 1500, few = 3, many = 40;
    Guarded a = random_floats(many * k, 1), scale = random_floats(n, 2), q(n * k / 4 + 1);
    for (int64_t i = 0; i < n * k; ++i)
      reinterpret_cast<int8_t*>(q.get())[i] = static_cast<int8_t>((i * 37 + 11) % 255 - 127);
    for (const bool trans_b : {false, true}) {
      Guarded one(few * n), other(many * n);
      for (auto [m, c] : {std::pair{few, &one}, {many, &other}}) {
        Gemm g{.m = m,
               .n = n,
               .k = k,
               .a = a.get(),
               .lda = k,
               .b = q.get(),
               .ldb = trans_b ? k : n,
               .trans_b = trans_b,
               .b_type = Element::i8,
               .b_scale = scale.get(),
               .c = c->get(),
               .ldc = n};
        gemm(g, Guarded(gemm_workspace_bytes(g, 2) / 4, NAN).get(), pool);
      }
      const std::vector<double> expected(other.get(), other.get() + few * n);
      EXPECT_LT(relative_error(one.get(), expected), 2e-6);
    }
  });
}

TEST(Gemm, SeveralBlocksOfEachLoop) {
  for_each_isa(
      [] {
        ThreadPool pool(2);
        check({100, 50, 1700, false, false, true, true, Activation::gelu_tanh}, pool);
        check({203, 70, 800, true, true, true, false, Activation::none}, pool);
        check({300, 70, 1100, true, false, false, false, Activation::none}, pool);
        check({20, 3200, 11, false, true, false, true, Activation::silu}, pool);
        check({70, 3200, 11, false, true, false, true, Activation::silu}, pool);
      },
      Isa::amx);
}

// Errors against double sums, as a share of the sum of |a b|: root of the mean square, and largest.
struct Errors {
  double mean = 0, largest = 0;
};
Errors errors(int64_t m, int64_t n, int64_t k, const float* a, const float* b) {
  ThreadPool pool(2);
  Guarded c(m * n);
  Gemm g{.m = m, .n = n, .k = k, .a = a, .lda = k, .b = b, .ldb = n, .c = c.get(), .ldc = n};
  Guarded work(gemm_workspace_bytes(g, 2) / 4);
  gemm(g, work.get(), pool);
  Errors e;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < k; ++l) {
        const double x = static_cast<double>(a[i * k + l]) * b[l * n + j];
        sum += x;
        size += std::fabs(x);
      }
      const double error = std::fabs(c[i * n + j] - sum) / size;
      e.mean += error * error;
      e.largest = std::max(e.largest, error);
    }
  e.mean = std::sqrt(e.mean / static_cast<double>(m * n));
  return e;
}

// Parts in bf16 stand for f32 only if nobody can tell by the error: on numbers of one sign, of
// both, and over many powers of two, short sums and long ones.
TEST(Gemm, PartsInBf16AreAsExactAsMultiplyAdds) {
  if (!isa_supported(Isa::amx)) GTEST_SKIP() << "no AMX on this processor";
  const Isa before = isa();
  for (const int64_t k : {1, 40, 768, 3000})
    for (const int kind : {0, 1, 2}) {
      SCOPED_TRACE(fmt::format("k {} kind {}", k, kind));
      const int64_t m = 64, n = 80;
      Guarded a = random_floats(m * k, 1, kind == 0 ? 0 : -1), b = random_floats(k * n, 2, -1);
      std::mt19937 random(3);
      if (kind == 2)
        for (Guarded* x : {&a, &b})
          for (int64_t i = 0; i < x->size(); ++i)
            (*x)[i] = std::ldexp((*x)[i], static_cast<int>(random() % 41) - 20);
      set_isa(Isa::avx512);
      const Errors plain = errors(m, n, k, a.get(), b.get());
      set_isa(Isa::amx);
      const Errors parts = errors(m, n, k, a.get(), b.get());
      EXPECT_LE(parts.mean, 1.25 * plain.mean + 0x1p-26);
      EXPECT_LE(parts.largest, 1.25 * plain.largest + 0x1p-24);
    }
  set_isa(before);
}

TEST(GemmBf16, SeveralBlocksOfEachLoop) {
  for_each_isa(
      [] {
        ThreadPool pool(2);
        check({300, 50, 2100, false, false, true, true, Activation::gelu_tanh, true}, pool);
        check({203, 70, 2300, true, true, true, false, Activation::none, true}, pool);
        check({20, 3200, 11, false, true, false, true, Activation::silu, true}, pool);
      },
      Isa::amx);
}

TEST(GemmBf16, ValuesThatAreNotFiniteStay) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const float a[4] = {inf, 1, nan, 1}, b[2] = {1, 1};
  for_each_isa(
      [&] {
        ThreadPool pool(1);
        float c[2];
        Gemm g{.m = 2, .n = 1, .k = 2, .a = a, .lda = 2, .b = b, .ldb = 1, .c = c, .ldc = 1};
        g.bf16 = true;
        Guarded work(gemm_workspace_bytes(g, 1) / 4, NAN);
        gemm(g, work.get(), pool);
        EXPECT_EQ(c[0], inf);
        EXPECT_TRUE(std::isnan(c[1]));
      },
      Isa::amx);
}

// A [m,k] times B of k x n, all dense; the caller says where C is.
Gemm product(int64_t m, int64_t n, int64_t k, Guarded& a, Guarded& b, bool trans_b) {
  Gemm g{.m = m, .n = n, .k = k};
  g.a = a.get();
  g.lda = k;
  g.b = b.get();
  g.ldb = trans_b ? k : n;
  g.trans_b = trans_b;
  g.ldc = n;
  return g;
}

// B unpacked and B packed beforehand: other loops, the same sums.
TEST(Gemm, FewRowsHaveTheBitsOfTiles) {
  for_each_isa([] {
    ThreadPool pool(3);
    for (int64_t m : {17, 32, 40, 48, 63})
      for (auto [n, k] : {std::pair<int64_t, int64_t>{1, 5}, {100, 40}, {203, 1300}})
        for (bool trans_b : {false, true})
          for (bool accumulate : {false, true}) {
            SCOPED_TRACE(fmt::format("m {} n {} k {} {} {}", m, n, k, trans_b, accumulate));
            Guarded a = random_floats(m * k, 1), b = random_floats(n * k, 2),
                    bias = random_floats(n, 3);
            Guarded packed(pack_b_bytes(k, n) / 4);
            Gemm g = product(m, n, k, a, b, trans_b);
            g.accumulate = accumulate;
            g.bias = bias.get();
            g.act = Activation::relu;
            pack_b(k, n, b.get(), g.ldb, trans_b, packed.get(), pool);
            Guarded plain = random_floats(m * n, 4), tiles = random_floats(m * n, 4);
            for (Guarded* c : {&plain, &tiles}) {
              g.packed_b = c == &tiles ? packed.get() : nullptr;
              g.c = c->get();
              Guarded work(gemm_workspace_bytes(g, 3) / 4, NAN);
              gemm(g, work.get(), pool);
              EXPECT_TRUE(work.intact());
            }
            EXPECT_EQ(std::memcmp(plain.get(), tiles.get(), m * n * 4), 0);
          }
  });
}

// With rows_like a row has the same bits in a product of any number of rows; workspaces of many rows and of 64
// serve them all.
TEST(Gemm, RowsLikeGivesARowTheSameBitsBesideAnyOthers) {
  for_each_isa(
      [] {
        ThreadPool pool(3);
        const int64_t most = 150, n = 103, k = 1300;
        for (const int64_t like : {17, 100})
          for (const bool trans_b : {false, true}) {
            Guarded a = random_floats(most * k, 1), b = random_floats(n * k, 2), all(most * n);
            Gemm g = product(most, n, k, a, b, trans_b);
            g.rows_like = like;
            int64_t bytes = gemm_workspace_bytes(g, 3);
            g.m = kGemmFewRows;
            bytes = std::max(bytes, gemm_workspace_bytes(g, 3));
            for (const int64_t m : {most, int64_t{1}, int64_t{2}, int64_t{16}, int64_t{17},
                                    int64_t{33}, int64_t{64}, int64_t{65}}) {
              SCOPED_TRACE(fmt::format("m {} like {} {}", m, like, trans_b));
              Guarded c(m * n), work(bytes / 4, NAN);
              g.m = m;
              g.c = m == most ? all.get() : c.get();
              gemm(g, work.get(), pool);
              EXPECT_TRUE(work.intact());
              EXPECT_EQ(std::memcmp(g.c, all.get(), m * n * 4), 0);
            }
          }
      },
      Isa::amx);
}

// DeviceSpec::rows_apart: some rows of a product, 64 or more, have the bits that they have in the whole product.
void same_bits_for_parts_of_rows(bool trans_a, bool trans_b, bool narrow, int64_t k) {
  ThreadPool pool(2);
  const int64_t m = 199, n = 35;
  Guarded a = random_floats(m * k, 1), b = random_floats(n * k, 2), bias = random_floats(n, 3),
          residual = random_floats(m * n, 4), all(m * n), c(m * n);
  Gemm g = product(m, n, k, a, b, trans_b);
  g.trans_a = trans_a;
  g.lda = trans_a ? m : k;
  g.bf16 = narrow;
  g.bias = bias.get();
  g.act = Activation::gelu_tanh;
  g.residual = residual.get();
  g.ldresidual = n;
  g.c = all.get();
  Guarded work(gemm_workspace_bytes(g, 2) / 4, NAN);
  gemm(g, work.get(), pool);
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>(0, 64), {64, 131}, {131, 199}}) {
    SCOPED_TRACE(
        fmt::format("rows {} to {} {} {} {} k {}", begin, end, trans_a, trans_b, narrow, k));
    Gemm part = g;
    part.m = end - begin;
    part.a = a.get() + (trans_a ? begin : begin * k);
    part.residual = residual.get() + begin * n;
    part.c = c.get() + begin * n;
    Guarded scratch(gemm_workspace_bytes(part, 2) / 4, NAN);
    gemm(part, scratch.get(), pool);
    EXPECT_EQ(std::memcmp(part.c, all.get() + begin * n, (end - begin) * n * 4), 0);
  }
}

TEST(Gemm, PartsOfTheRowsHaveTheSameBits) {
  for_each_isa(
      [] {
        for (const int64_t k : {40, 1100})
          for (const bool narrow : {false, true})
            for (const bool trans_b : {false, true}) {
              same_bits_for_parts_of_rows(false, trans_b, narrow, k);
              if (!trans_b) same_bits_for_parts_of_rows(true, false, narrow, k);
            }
      },
      Isa::amx);
}

void same_bits_for_every_number_of_threads(int64_t m, bool trans_b, bool bf16) {
  const int64_t n = 201, k = bf16 ? 2500 : 900;
  Guarded a = random_floats(m * k, 1), b = random_floats(k * n, 2), first(m * n);
  for (int threads : {1, 2, 4, 6}) {
    ThreadPool pool(threads);
    Guarded c(m * n);
    Gemm g = product(m, n, k, a, b, trans_b);
    g.c = c.get();
    g.bf16 = bf16;
    Guarded work(gemm_workspace_bytes(g, threads) / 4);
    gemm(g, work.get(), pool);
    if (threads == 1) std::memcpy(first.get(), c.get(), m * n * 4);
    EXPECT_EQ(std::memcmp(first.get(), c.get(), m * n * 4), 0) << threads;
  }
}

TEST(Gemm, SameBitsForEveryNumberOfThreads) {
  for_each_isa(
      [] {
        for (int64_t m : {9, 37, 67})
          for (bool trans_b : {false, true})
            same_bits_for_every_number_of_threads(m, trans_b, false);
      },
      Isa::amx);
}

TEST(GemmBf16, SameBitsForEveryNumberOfThreads) {
  for_each_isa([] { same_bits_for_every_number_of_threads(67, false, true); }, Isa::amx);
}

// Element (row, column) of the matrix of windows.
float window_element(const Patches& p, const float* images, int64_t row, int64_t column) {
  const int64_t places = p.out_h * p.out_w, c = column % p.channels, tap = column / p.channels;
  const int64_t y = row % places / p.out_w * p.stride_h - p.top + tap / p.kernel_w * p.dilation_h,
                x = row % p.out_w * p.stride_w - p.left + tap % p.kernel_w * p.dilation_w;
  if (y < 0 || y >= p.height || x < 0 || x >= p.width) return 0;
  return images[((row / places * p.height + y) * p.width + x) * p.pixel + c];
}

std::vector<Patches> some_windows() {
  return {{.height = 9,
           .width = 11,
           .pixel = 3,
           .channels = 3,
           .out_h = 9,
           .out_w = 11,
           .kernel_h = 3,
           .kernel_w = 3,
           .top = 1,
           .left = 1},
          {.height = 13,
           .width = 17,
           .pixel = 3,
           .channels = 3,
           .out_h = 7,
           .out_w = 9,
           .kernel_h = 7,
           .kernel_w = 7,
           .stride_h = 2,
           .stride_w = 2,
           .top = 3,
           .left = 3},
          // A group of the channels, apart from each other; windows that begin inside.
          {.height = 10,
           .width = 9,
           .pixel = 40,
           .channels = 19,
           .out_h = 6,
           .out_w = 7,
           .kernel_h = 2,
           .kernel_w = 3,
           .top = -2,
           .left = 2,
           .dilation_h = 2,
           .dilation_w = 3},
          {.height = 8,
           .width = 8,
           .pixel = 150,
           .channels = 150,
           .out_h = 8,
           .out_w = 8,
           .kernel_h = 3,
           .kernel_w = 3,
           .top = 1,
           .left = 1}};
}

// Windows of images that are never made a matrix have the bits of the matrix.
TEST(Gemm, WindowsOfImagesHaveTheBitsOfTheirMatrix) {
  const std::vector<Patches> all = some_windows();
  for_each_isa(
      [&] {
        for (const Patches& p : all)
          for (const bool turned : {false, true}) {
            const int64_t images = 2, rows = images * p.out_h * p.out_w, columns = p.columns(),
                          n = 50;
            Guarded a = random_floats(images * p.height * p.width * p.pixel, 1);
            Guarded b = random_floats(n * (turned ? rows : columns), 2), matrix(rows * columns);
            for (int64_t i = 0; i < rows; ++i)
              for (int64_t j = 0; j < columns; ++j)
                matrix[i * columns + j] = window_element(p, a.get(), i, j);
            Gemm g{.m = turned ? columns : rows,
                   .n = n,
                   .k = turned ? rows : columns,
                   .a = matrix.get(),
                   .lda = columns,
                   .trans_a = turned,
                   .b = b.get(),
                   .ldb = n,
                   .ldc = n};
            std::vector<std::vector<float>> results;
            for (const int threads : {1, 3}) {
              ThreadPool pool(threads);
              for (const bool windows : {false, true}) {
                g.a = windows ? a.get() : matrix.get();
                g.patches = windows ? &p : nullptr;
                Guarded c(g.m * n), work(gemm_workspace_bytes(g, threads) / 4, NAN);
                g.c = c.get();
                gemm(g, work.get(), pool);
                EXPECT_TRUE(c.intact() && work.intact());
                results.emplace_back(c.get(), c.get() + c.size());
              }
            }
            for (const std::vector<float>& r : results) EXPECT_EQ(r, results[0]);
          }
      },
      Isa::amx);
}

// Any cut of the columns has the bits of the whole product, of windows too.
TEST(Gemm, ColumnsByOneThreadHaveTheBitsOfTheProduct) {
  for_each_isa(
      [] {
        ThreadPool pool(2);
        for (const Patches& p : some_windows())
          for (const auto& [m, bf16, f16] :
               {std::tuple{9, false, false}, std::tuple{70, false, false},
                std::tuple{530, true, false}, std::tuple{33, false, true}}) {
            const int64_t images = 2, k = images * p.out_h * p.out_w, n = p.columns();
            Guarded a = random_floats(k * m, 1),
                    b = random_floats(images * p.height * p.width * p.pixel, 2), matrix(k * n);
            for (int64_t i = 0; i < k; ++i)
              for (int64_t j = 0; j < n; ++j) matrix[i * n + j] = window_element(p, b.get(), i, j);
            Gemm g{.m = m,
                   .n = n,
                   .k = k,
                   .a = a.get(),
                   .lda = m,
                   .trans_a = true,
                   .b = matrix.get(),
                   .ldb = n,
                   .ldc = n,
                   .bf16 = bf16,
                   .f16 = f16};
            Guarded want(m * n), work(gemm_workspace_bytes(g, 2) / 4, NAN);
            g.c = want.get();
            gemm(g, work.get(), pool);
            for (const bool windows : {false, true}) {
              g.b = windows ? b.get() : matrix.get();
              g.b_patches = windows ? &p : nullptr;
              Guarded c(m * n), alone(gemm_columns_workspace_bytes(g) / 4, NAN);
              g.c = c.get();
              for (const auto& [begin, end] : {std::pair{n / 3, n}, std::pair{int64_t{0}, n / 3}})
                gemm_columns(g, begin, end, alone.get());
              EXPECT_TRUE(c.intact() && alone.intact());
              EXPECT_EQ(std::memcmp(c.get(), want.get(), static_cast<size_t>(4 * m * n)), 0)
                  << m << " " << windows;
            }
          }
      },
      Isa::amx);
}

// Takes |x| below 65504, rounds to nearest even: numbers of 2^e are multiples of 2^(e - 10), and
// those below 2^-14 of 2^-24.
float round_to_f16(float x) {
  const double step = std::ldexp(1.0, std::max(std::ilogb(x == 0 ? 1.0f : x), -14) - 10);
  return static_cast<float>(std::nearbyint(x / step) * step);
}
uint16_t f16_bits(float rounded) {
  const float size = std::abs(rounded);
  const uint16_t sign = std::signbit(rounded) ? 0x8000 : 0;
  if (size < 0x1p-14f) return static_cast<uint16_t>(sign + static_cast<int>(size * 0x1p24f));
  const int e = std::ilogb(size);
  return static_cast<uint16_t>(sign + (e + 15) * 1024 + static_cast<int>(std::ldexp(size, 10 - e)) -
                               1024);
}

// Operands that are rounded already: the bits of those that are rounded while they are packed, and
// those of the f32 product of rounded values (in f16, where sums are the same).
TEST(Gemm, OperandsInTwoBytesHaveTheBitsOfRoundedOnes) {
  for_each_isa(
      [] {
        ThreadPool pool(2);
        for (const Element type : {Element::bf16, Element::f16})
          for (int64_t m : {5, 67})
            for (bool trans_a : {false, true})
              for (bool trans_b : {false, true}) {
                SCOPED_TRACE(
                    fmt::format("{} m {} {} {}", static_cast<int>(type), m, trans_a, trans_b));
                const int64_t n = 75, k = 230;
                Guarded a = random_floats(m * k, 1), b = random_floats(n * k, 2);
                a[3] = 0x1p-20f, a[4] = 3e-7f;  // subnormal in f16
                std::vector<uint16_t> narrow_a(m * k), narrow_b(n * k);
                Guarded round_a(m * k), round_b(n * k);
                for (auto [from, to, round] :
                     {std::tuple{&a, &narrow_a, &round_a}, std::tuple{&b, &narrow_b, &round_b}})
                  for (size_t i = 0; i < to->size(); ++i) {
                    const float x = (*from)[static_cast<int64_t>(i)];
                    float& y = (*round)[static_cast<int64_t>(i)];
                    y = type == Element::bf16 ? from_bf16(bf16_bits(x)) : round_to_f16(x);
                    (*to)[i] = type == Element::bf16 ? bf16_bits(x) : f16_bits(y);
                  }
                Guarded first(m * n);
                for (int how = 0; how < 5; ++how) {
                  Gemm g = product(m, n, k, a, b, trans_b);
                  g.trans_a = trans_a;
                  if (trans_a) g.lda = m;
                  g.bf16 = type == Element::bf16;
                  g.f16 = !g.bf16;
                  if (how & 1) g.a = narrow_a.data(), g.a_type = type;
                  if (how & 2) g.b = narrow_b.data(), g.b_type = type;
                  if (how == 4) g.a = round_a.get(), g.b = round_b.get();
                  Guarded c(m * n);
                  g.c = c.get();
                  Guarded work(gemm_workspace_bytes(g, 2) / 4, NAN);
                  gemm(g, work.get(), pool);
                  EXPECT_TRUE(work.intact() && c.intact());
                  if (how == 0) std::memcpy(first.get(), c.get(), m * n * 4);
                  EXPECT_EQ(std::memcmp(first.get(), c.get(), m * n * 4), 0) << how;
                }
                for (int64_t i = 0; i < m; ++i)
                  for (int64_t j = 0; j < n; ++j) {
                    double sum = 0, size = 0;
                    for (int64_t q = 0; q < k; ++q) {
                      const double x = double{round_a[trans_a ? q * m + i : i * k + q]} *
                                       double{round_b[trans_b ? j * k + q : q * n + j]};
                      sum += x;
                      size += std::abs(x);
                    }
                    ASSERT_NEAR(first[i * n + j], sum, 1e-5 * size);
                  }
              }
      },
      Isa::amx);
}

TEST(GemmF16, SameBitsForEveryNumberOfThreads) {
  for_each_isa([] {
    const int64_t m = 67, n = 201, k = 1500;
    Guarded a = random_floats(m * k, 1), b = random_floats(k * n, 2), first(m * n);
    for (int threads : {1, 2, 3, 7}) {
      ThreadPool pool(threads);
      Guarded c(m * n);
      Gemm g = product(m, n, k, a, b, false);
      g.c = c.get();
      g.f16 = true;
      Guarded work(gemm_workspace_bytes(g, threads) / 4);
      gemm(g, work.get(), pool);
      if (threads == 1) std::memcpy(first.get(), c.get(), m * n * 4);
      EXPECT_EQ(std::memcmp(first.get(), c.get(), m * n * 4), 0) << threads;
    }
  });
}

TEST(Gemm, EmptySum) {
  ThreadPool pool(2);
  Guarded c(6, 7.0f), bias(3, 2.0f);
  Gemm g{.m = 2, .n = 3, .k = 0, .c = c.get(), .ldc = 3, .bias = bias.get()};
  gemm(g, nullptr, pool);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(c[i], 2.0f);
}

}  // namespace
}  // namespace hone::cpu

// Times the kernels at the shapes of GPT-2 124M with 2,048 tokens, beside the peak of the machine
// and, where it is installed, oneDNN (plain and packed weights).
//
//   engine_backends_cpu_kernels_bench [threads=cores] [rounds=10] [filter]
//
// All contenders of a row run in turn within each round, next to a probe of the multiply-add peak;
// a round whose probe is more than 5 % below the best one is not counted (another process had the
// core). The best time of each contender is reported.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/backends/cpu/gemm/gemm.h"
#include "engine/backends/cpu/isa/isa.h"
#include "engine/backends/cpu/kernels/attention.h"
#include "engine/backends/cpu/kernels/elementwise.h"
#include "engine/backends/cpu/kernels/linear_cross_entropy.h"
#include "engine/backends/cpu/kernels/norms.h"
#include "engine/backends/cpu/kernels/optimizer_8bit.h"
#include "engine/backends/cpu/kernels/rows.h"
#ifdef HONE_ONEDNN
#include <dnnl.hpp>
#endif

namespace hone::cpu {
namespace {

using Clock = std::chrono::steady_clock;

struct Free {
  void operator()(float* p) const { std::free(p); }
};
using Floats = std::unique_ptr<float, Free>;
Floats floats(int64_t n) {
  constexpr int64_t kPage = 2 << 20;
  auto* p = static_cast<float*>(std::aligned_alloc(kPage, (n * 4 + kPage) / kPage * kPage));
  for (int64_t i = 0; i < n; ++i) p[i] = static_cast<float>(i * 7919 % 2003) * 1e-3f - 1.0f;
  return Floats(p);
}

double seconds(FunctionRef<void()> f) {
  const auto start = Clock::now();
  f();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Contender {
  std::string name;
  std::function<void()> run;
  double best = 1e30;
};

class Bench {
 public:
  Bench(ThreadPool& pool, int rounds, const char* filter)
      : pool_(pool), rounds_(rounds), filter_(filter) {
    a_ = floats(kM * kK);
    b_ = floats(pack_b_bytes(kK, kN) / 4);
    c_ = floats(kM * kN * pool.size());
    Gemm g{.m = kM * pool.size(), .n = kN, .k = kK, .packed_b = b_.get()};
    w_ = floats(gemm_workspace_bytes(g, pool.size()) / 4);
  }

  bool wants(const std::string& name) const { return !filter_ || name.find(filter_) != name.npos; }

  // A product that stays in the caches, on all threads, in GFLOP/s.
  double peak() {
    constexpr int64_t kTimes = 16;
    const double t = seconds([&] {
      Gemm g{.m = kM * pool_.size(),
             .n = kN,
             .k = kK,
             .a = a_.get(),
             .lda = 0,
             .packed_b = b_.get(),
             .c = c_.get(),
             .ldc = kN};
      for (int i = 0; i < kTimes; ++i) gemm(g, w_.get(), pool_);
    });
    return 2e-9 * static_cast<double>(kM * kN * kK * kTimes * pool_.size()) / t;
  }

  // work: FLOP (unit "GFLOP/s", with the share of the peak) or bytes (unit "GB/s").
  void row(const std::string& name, double work, const char* unit, std::vector<Contender> list) {
    if (!wants(name)) return;
    int counted = 0;
    for (int round = 0; counted < rounds_ && round < 3 * rounds_; ++round) {
      const double before = peak();
      std::vector<double> times;
      for (auto& c : list) times.push_back(seconds(c.run));
      const double probe = std::min(before, peak());
      best_peak_ = std::max(best_peak_, std::max(before, probe));
      if (probe < 0.95 * best_peak_ && round < 2 * rounds_) continue;
      ++counted;
      for (size_t i = 0; i < list.size(); ++i) list[i].best = std::min(list[i].best, times[i]);
    }
    std::printf("%-22s", name.c_str());
    for (const auto& c : list) {
      std::printf(" | %s %8.3f ms %6.1f %s", c.name.c_str(), c.best * 1e3, work / c.best * 1e-9,
                  unit);
      if (unit[1] == 'F') std::printf(" %3.0f %%", 100e-9 * work / c.best / best_peak_);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  double best_peak() const { return best_peak_; }
  ThreadPool& pool() { return pool_; }

 private:
  static constexpr int64_t kM = 96, kN = 384, kK = 256;
  ThreadPool& pool_;
  int rounds_;
  const char* filter_;
  double best_peak_ = 0;
  Floats a_, b_, c_, w_;
};

struct Product {
  const char* name;
  int64_t m, n, k;
  bool ta, tb, accumulate;
};

void bench_gemm(Bench& bench, const Product& s) {
  if (!bench.wants(s.name)) return;
  ThreadPool& pool = bench.pool();
  Floats a = floats(s.m * s.k), b = floats(s.k * s.n), c = floats(s.m * s.n);
  Gemm g{.m = s.m,
         .n = s.n,
         .k = s.k,
         .a = a.get(),
         .lda = s.ta ? s.m : s.k,
         .trans_a = s.ta,
         .b = b.get(),
         .ldb = s.tb ? s.k : s.n,
         .trans_b = s.tb,
         .c = c.get(),
         .ldc = s.n,
         .accumulate = s.accumulate};
  Floats work = floats(gemm_workspace_bytes(g, pool.size()) / 4 + 16);
  std::vector<Contender> list = {{"own", [&] { gemm(g, work.get(), pool); }}};
  Gemm bf16 = g;
  bf16.bf16 = true;
  Floats bf16_work = floats(gemm_workspace_bytes(bf16, pool.size()) / 4 + 16);
  if (s.m > kGemmSmallRows) list.push_back({"bf16", [&] { gemm(bf16, bf16_work.get(), pool); }});
  Gemm packed = g;
  Floats pb;
  if (!s.ta) {
    pb = floats(pack_b_bytes(s.k, s.n) / 4);
    pack_b(s.k, s.n, b.get(), g.ldb, s.tb, pb.get(), pool);
    packed.packed_b = pb.get();
    list.push_back({"own packed", [&] { gemm(packed, work.get(), pool); }});
  }
#ifdef HONE_ONEDNN
  using Desc = dnnl::memory::desc;
  using Tag = dnnl::memory::format_tag;
  constexpr auto kF32 = dnnl::memory::data_type::f32;
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const Desc da({s.m, s.k}, kF32, s.ta ? Tag::ba : Tag::ab),
      db({s.k, s.n}, kF32, s.tb ? Tag::ba : Tag::ab);
  const Desc any({s.k, s.n}, kF32, Tag::any), dc({s.m, s.n}, kF32, Tag::ab);
  dnnl::primitive_attr attr;
  dnnl::post_ops sum;
  sum.append_sum(1.0f);
  if (s.accumulate) attr.set_post_ops(sum);
  const dnnl::matmul::primitive_desc plain_desc({da, db, dc}, attr, engine),
      packed_desc({da, any, dc}, attr, engine);
  const dnnl::matmul plain(plain_desc), with_packed(packed_desc);
  dnnl::memory ma(da, engine, a.get()), mb(db, engine, b.get()), mc(dc, engine, c.get());
  dnnl::memory mp(packed_desc.weights_desc(), engine);
  dnnl::reorder(mb, mp).execute(stream, mb, mp);
  stream.wait();
  list.push_back(
      {"oneDNN", [&] {
         plain.execute(stream, {{DNNL_ARG_SRC, ma}, {DNNL_ARG_WEIGHTS, mb}, {DNNL_ARG_DST, mc}});
         stream.wait();
       }});
  if (!s.ta)
    list.push_back({"oneDNN packed", [&] {
                      with_packed.execute(
                          stream, {{DNNL_ARG_SRC, ma}, {DNNL_ARG_WEIGHTS, mp}, {DNNL_ARG_DST, mc}});
                      stream.wait();
                    }});
#endif
  const double flop = 2.0 * static_cast<double>(s.m * s.n * s.k);
  if (s.m <= kGemmSmallRows)
    bench.row(s.name, 4.0 * static_cast<double>(s.n * s.k), "GB/s", list);
  else
    bench.row(s.name, flop, "GFLOP/s", list);
}

void bench_attention(Bench& bench, int64_t sequences, int64_t length, int64_t heads, int64_t dim,
                     double p) {
  const std::string name =
      fmt::format("attention {}x{}x{}x{} p {}", sequences, length, heads, dim, p);
  if (!bench.wants(name)) return;
  ThreadPool& pool = bench.pool();
  const int64_t t = sequences * length, c = heads * dim;
  Floats qkv = floats(3 * t * c), out = floats(t * c), dout = floats(t * c),
         grad = floats(3 * t * c);
  Floats lse = floats(heads * t);
  std::vector<int32_t> cu;
  for (int64_t i = 0; i <= sequences; ++i) cu.push_back(static_cast<int32_t>(i * length));
  const std::vector<int64_t> ids(sequences, 1);
  Attention a{.sequences = sequences,
              .cu_q = cu.data(),
              .cu_k = cu.data(),
              .tokens_q = t,
              .tokens_k = t,
              .heads = heads,
              .kv_heads = heads,
              .head_dim = dim,
              .q = {qkv.get(), 3 * c, dim},
              .k = {qkv.get() + c, 3 * c, dim},
              .v = {qkv.get() + 2 * c, 3 * c, dim},
              .scale = 0.1f,
              .causal = true,
              .dropout = p,
              .key = {1, 2},
              .sample_ids = ids.data(),
              .out = {out.get(), c, dim},
              .lse = lse.get()};
  Attention biased = a;
  biased.reach = length;
  Floats bias = floats(heads * (2 * length - 1)), dbias = floats(heads * (2 * length - 1));
  biased.bias = bias.get();
  Floats work = floats(attention_backward_workspace_bytes(biased, pool.size()) / 4);
  AttentionBackward b{a,
                      {dout.get(), c, dim},
                      {grad.get(), 3 * c, dim},
                      {grad.get() + c, 3 * c, dim},
                      {grad.get() + 2 * c, 3 * c, dim}};
  AttentionBackward biased_b = b;
  biased_b.forward = biased;
  biased_b.dbias = dbias.get();
  const double product =
      static_cast<double>(sequences * heads * length * length * dim);  // half of 2 L L D
  bench.row(name + " fwd", 2 * product, "GFLOP/s",
            {{"own", [&] { attention(a, work.get(), pool); }},
             {"with a bias", [&] { attention(biased, work.get(), pool); }}});
  bench.row(name + " bwd", 5 * product, "GFLOP/s",
            {{"own", [&] { attention_backward(b, work.get(), pool); }},
             {"with a bias", [&] { attention_backward(biased_b, work.get(), pool); }}});
}

void bench_rows(Bench& bench) {
  ThreadPool& pool = bench.pool();
  const int64_t t = 2048, c = 768, n = t * 3072;
  Floats x = floats(n), y = floats(n), z = floats(n), g = floats(3072), m = floats(t),
         r = floats(t);
  Floats work = floats(norm_backward_workspace_bytes(t, 3072) / 4);
  const std::vector<int64_t> ids(t, 1);
  std::vector<int32_t> pos(t);
  for (int64_t i = 0; i < t; ++i) pos[i] = static_cast<int32_t>(i);
  auto row = [&](const char* name, int64_t floats_moved, std::function<void()> f) {
    bench.row(name, 4.0 * static_cast<double>(floats_moved), "GB/s", {{"own", std::move(f)}});
  };
  row("layer_norm", 2 * t * c, [&] {
    norm({.rows = t,
          .columns = c,
          .input = x.get(),
          .gamma = g.get(),
          .beta = g.get(),
          .y = y.get(),
          .mean = m.get(),
          .rstd = r.get()},
         pool);
  });
  row("layer_norm backward", 3 * t * c, [&] {
    norm_backward({.rows = t,
                   .columns = c,
                   .x = x.get(),
                   .gamma = g.get(),
                   .mean = m.get(),
                   .rstd = r.get(),
                   .dy = y.get(),
                   .dx = z.get(),
                   .dgamma = g.get(),
                   .dbeta = g.get()},
                  work.get(), pool);
  });
  row("gelu_tanh", 2 * n, [&] { unary(Unary::gelu_tanh, n, x.get(), y.get(), pool); });
  row("gelu_tanh backward", 3 * n,
      [&] { unary_backward(Unary::gelu_tanh, n, x.get(), y.get(), z.get(), pool); });
  row("gelu_erf", 2 * n, [&] { unary(Unary::gelu, n, x.get(), y.get(), pool); });
  row("dropout + residual", 3 * t * c, [&] {
    dropout({.rows = t,
             .columns = c,
             .x = x.get(),
             .residual = y.get(),
             .y = z.get(),
             .p = 0.1,
             .key = {1, 2},
             .sample_ids = ids.data(),
             .positions = pos.data()},
            pool);
  });
  row("column_sum", n, [&] { column_sum(t, 3072, x.get(), 3072, true, g.get(), pool); });
  row("add", 3 * n, [&] { add(n, x.get(), y.get(), z.get(), pool); });
}

void bench_model(Bench& bench) {
  ThreadPool& pool = bench.pool();
  const int64_t t = 2048, c = 768, v = 50257;
  if (bench.wants("cross_entropy 1024")) {
    Floats x = floats(1024 * v), nll = floats(1024);
    const std::vector<int32_t> labels(1024, 5);
    bench.row("cross_entropy 1024", 8.0 * 1024 * static_cast<double>(v), "GB/s",
              {{"own", [&] {
                  cross_entropy({.rows = 1024,
                                 .columns = v,
                                 .x = x.get(),
                                 .ldx = v,
                                 .labels = labels.data(),
                                 .nll = nll.get()},
                                pool);
                }}});
  }
  if (bench.wants("head linear_cross_entropy")) {
    Floats x = floats(t * c), w = floats(v * c), dx = floats(t * c), dw = floats(v * c),
           nll = floats(t);
    const std::vector<int32_t> labels(t, 5);
    LinearCrossEntropy l{.tokens = t,
                         .columns = c,
                         .vocabulary = v,
                         .x = x.get(),
                         .w = w.get(),
                         .labels = labels.data(),
                         .nll = nll.get(),
                         .dx = dx.get(),
                         .dw = dw.get(),
                         .accumulate_dw = true};
    Floats work = floats(linear_cross_entropy_workspace_bytes(l, pool.size()) / 4);
    bench.row("head linear_cross_entropy", 6.0 * static_cast<double>(t * c * v), "GFLOP/s",
              {{"own", [&] { linear_cross_entropy(l, work.get(), pool); }}});
  }
  if (bench.wants("adamw")) {
    const int64_t n = 40'000'000;
    Floats p = floats(n), g = floats(n), m = floats(n), q = floats(n);
    for (int64_t i = 0; i < n; ++i) q.get()[i] = 1;
    const UpdateTensor list[] = {{p.get(), {g.get()}, {m.get(), q.get()}, n, 0.01}};
    bench.row("adamw 40M", 28.0 * n, "GB/s",
              {{"own", [&] { adamw(list, {}, {.lr = 1e-9}, pool); }}});
    std::vector<uint8_t> codes[2] = {std::vector<uint8_t>(n), std::vector<uint8_t>(n)};
    Floats most[2] = {floats(n / 256), floats(n / 256)};
    quantize_dynamic(n, m.get(), true, codes[0].data(), most[0].get(), pool);
    quantize_dynamic(n, q.get(), false, codes[1].data(), most[1].get(), pool);
    const Update8bitTensor coded[] = {{p.get(),
                                       {g.get()},
                                       {codes[0].data(), codes[1].data()},
                                       {most[0].get(), most[1].get()},
                                       n,
                                       0.01}};
    bench.row("adamw_8bit 40M", 16.0 * n, "GB/s",
              {{"own", [&] { adamw_8bit(coded, {}, {.lr = 1e-9}, pool); }}});
    const TensorView views[] = {{{g.get()}, n}};
    std::vector<double> work(sum_squares_workspace_bytes(n, 1) / 8);
    double sum = 0;
    bench.row("adamw sum_squares 40M", 4.0 * n, "GB/s",
              {{"own", [&] { sum_squares(views, &sum, work.data(), pool); }}});
  }
}

int run(int argc, char** argv) {
  ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : ThreadPool::default_size());
  Bench bench(pool, argc > 2 ? std::atoi(argv[2]) : 10, argc > 3 ? argv[3] : nullptr);
  std::printf("instruction set %s, %d threads\n", isa_name(isa()), pool.size());
  for (const Product& p : {
           Product{"fwd qkv", 2048, 2304, 768, false, false, false},
           {"fwd attn proj", 2048, 768, 768, false, false, false},
           {"fwd mlp fc", 2048, 3072, 768, false, false, false},
           {"fwd mlp proj", 2048, 768, 3072, false, false, false},
           {"dx qkv", 2048, 768, 2304, false, true, false},
           {"dx attn proj", 2048, 768, 768, false, true, false},
           {"dx mlp fc", 2048, 768, 3072, false, true, false},
           {"dx mlp proj", 2048, 3072, 768, false, true, false},
           {"dw qkv", 768, 2304, 2048, true, false, true},
           {"dw attn proj", 768, 768, 2048, true, false, true},
           {"dw mlp fc", 768, 3072, 2048, true, false, true},
           {"dw mlp proj", 3072, 768, 2048, true, false, true},
           {"head logits", 1024, 50257, 768, false, true, false},
           {"head dx", 1024, 768, 50257, false, false, false},
           {"head dw", 50257, 768, 1024, true, false, true},
           {"decode 1 fc [K,N]", 1, 3072, 768, false, false, false},
           {"decode 1 head [N,K]", 1, 50257, 768, false, true, false},
           {"decode 8 head [N,K]", 8, 50257, 768, false, true, false},
           {"decode 4 4096 [K,N]", 4, 4096, 4096, false, false, false},
           {"decode 4 4096 [N,K]", 4, 4096, 4096, false, true, false},
           {"decode 16 4096 [K,N]", 16, 4096, 4096, false, false, false},
           {"decode 16 4096 [N,K]", 16, 4096, 4096, false, true, false},
           {"beams 32 512 [N,K]", 32, 512, 512, false, true, false},
           {"beams 32 out [N,K]", 32, 512, 2048, false, true, true},
           {"beams 32 head [N,K]", 32, 32128, 512, false, true, false},
           {"beams 48 in [N,K]", 48, 2048, 512, false, true, false},
           {"beams 64 in [N,K]", 64, 2048, 512, false, true, false},
       })
    bench_gemm(bench, p);
  for (double p : {0.0, 0.1}) bench_attention(bench, 4, 512, 12, 64, p);
  bench_attention(bench, 2, 1024, 12, 64, 0);
  bench_attention(bench, 4, 512, 8, 128, 0);
  bench_rows(bench);
  bench_model(bench);
  std::printf("peak (a product that stays in the caches), all threads: %.1f GFLOP/s\n",
              bench.best_peak());
  return 0;
}

}  // namespace
}  // namespace hone::cpu

int main(int argc, char** argv) {
  // OpenMP threads that spin after oneDNN's work would take the cores from the next contender;
  // libgomp reads this when it is loaded.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv("/proc/self/exe", argv);
  }
  return hone::cpu::run(argc, argv);
}

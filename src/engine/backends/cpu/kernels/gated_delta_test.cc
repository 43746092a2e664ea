// The gated delta rule on every instruction set; the backend's conformance suite compares the best one with
// double loops (tests/ops/gated_delta_rule*.case).
#include "engine/backends/cpu/kernels/gated_delta.h"

#include <algorithm>

#include "engine/backends/cpu/isa/kernels_test.h"

namespace hone::cpu {
namespace {

// Everything that a call reads and writes: the sequences `of`, by their number, each with its own values.
struct DeltaBuffers {
  static constexpr int64_t kHeads = 4, kKeyHeads = 2, kKeys = 9, kValues = 37, kLength = 70;

  explicit DeltaBuffers(const std::vector<uint32_t>& of, int64_t slack = 0)
      : tokens(kLength * static_cast<int64_t>(of.size()) + slack),
        q(tokens * kKeyHeads * kKeys),
        k(tokens * kKeyHeads * kKeys),
        v(tokens * kHeads * kValues),
        decay(tokens * kHeads),
        beta(tokens * kHeads),
        dout(tokens * kHeads * kValues),
        out(tokens * kHeads * kValues, 7),
        dq(q.size(), 7),
        dk(k.size(), 7),
        dv(v.size(), 7),
        ddecay(decay.size(), 7),
        dbeta(beta.size(), 7) {
    for (size_t s = 0; s < of.size(); ++s) {
      cu.push_back(static_cast<int32_t>(s) * kLength + kLength);
      fill(q, s, of[s], -0.5f, 0.5f);
      fill(k, s, of[s] + 100, -0.5f, 0.5f);
      fill(v, s, of[s] + 200, -1, 1);
      fill(decay, s, of[s] + 300, -1, 0);
      fill(beta, s, of[s] + 400, 0, 1);
      fill(dout, s, of[s] + 500, -1, 1);
    }
    b.forward = {.sequences = static_cast<int64_t>(of.size()),
                 .tokens = tokens,
                 .heads = kHeads,
                 .key_heads = kKeyHeads,
                 .key_dim = kKeys,
                 .value_dim = kValues,
                 .cu = cu.data(),
                 .q = q.get(),
                 .k = k.get(),
                 .v = v.get(),
                 .decay = decay.get(),
                 .beta = beta.get(),
                 .out = out.get()};
    b.dout = dout.get();
    b.dq = dq.get();
    b.dk = dk.get();
    b.dv = dv.get();
    b.ddecay = ddecay.get();
    b.dbeta = dbeta.get();
  }

  void fill(Guarded& g, size_t s, uint32_t seed, float low, float high) const {
    const int64_t count = g.size() / tokens * kLength;
    const Guarded values = random_floats(count, seed, low, high);
    std::copy_n(const_cast<Guarded&>(values).get(), count,
                g.get() + static_cast<int64_t>(s) * count);
  }

  void run(int threads) {
    ThreadPool pool(threads);
    Guarded w(std::max(gated_delta_workspace_bytes(b.forward, threads),
                       gated_delta_backward_workspace_bytes(b.forward, threads)) /
              4);
    gated_delta(b.forward, w.get(), pool);
    gated_delta_backward(b, w.get(), pool);
    EXPECT_TRUE(w.intact());
  }

  // The results for tokens [begin, end).
  std::vector<float> results(int64_t begin, int64_t end) {
    std::vector<float> all;
    for (Guarded* g : {&out, &dq, &dk, &dv, &ddecay, &dbeta}) {
      EXPECT_TRUE(g->intact());
      const int64_t row = g->size() / tokens;
      all.insert(all.end(), g->get() + begin * row, g->get() + end * row);
    }
    return all;
  }

  int64_t tokens;
  std::vector<int32_t> cu{0};
  Guarded q, k, v, decay, beta, dout, out, dq, dk, dv, ddecay, dbeta;
  GatedDeltaBackward b;
};

TEST(GatedDelta, IsTheSameOnEveryInstructionSet) {
  std::vector<double> first;
  for_each_isa([&] {
    DeltaBuffers f({1, 2}, 3);
    f.run(2);
    const std::vector<float> all = f.results(0, f.tokens);
    if (first.empty()) first.assign(all.begin(), all.end());
    EXPECT_LT(relative_error(all.data(), first), 1e-5);
  });
}

TEST(GatedDelta, BitsDependOnNeitherThreadsNorOtherSequences) {
  for_each_isa([&] {
    DeltaBuffers packed({1, 2, 3}, 5);
    packed.run(1);
    for (const int threads : {2, 3, 8}) {
      DeltaBuffers again({1, 2, 3}, 5);
      again.run(threads);
      EXPECT_EQ(again.results(0, again.tokens), packed.results(0, packed.tokens)) << threads;
    }
    DeltaBuffers alone({2});
    alone.run(1);
    EXPECT_EQ(alone.results(0, DeltaBuffers::kLength),
              packed.results(DeltaBuffers::kLength, 2 * DeltaBuffers::kLength));
    const std::vector<float> slack = packed.results(3 * DeltaBuffers::kLength, packed.tokens);
    EXPECT_EQ(std::count(slack.begin(), slack.end(), 0.0f), static_cast<int64_t>(slack.size()));
  });
}

// A text that is read in two runs ends as one that is read in one.
TEST(GatedDelta, ContinuesFromItsState) {
  for_each_isa([&] {
    constexpr int64_t kState = DeltaBuffers::kHeads * DeltaBuffers::kKeys * DeltaBuffers::kValues;
    ThreadPool pool(2);
    DeltaBuffers whole({4}), parts({4});
    Guarded w(gated_delta_workspace_bytes(whole.b.forward, 2) / 4), state(kState), end(kState);
    whole.b.forward.state_after = end.get();
    gated_delta(whole.b.forward, w.get(), pool);
    for (const auto& [begin, length] : {std::pair<int64_t, int32_t>{0, 33}, {33, 37}}) {
      GatedDelta part = parts.b.forward;
      const int32_t cu[] = {0, length};
      part.cu = cu;
      part.tokens = length;
      part.q += begin * DeltaBuffers::kKeyHeads * DeltaBuffers::kKeys;
      part.k += begin * DeltaBuffers::kKeyHeads * DeltaBuffers::kKeys;
      part.v += begin * DeltaBuffers::kHeads * DeltaBuffers::kValues;
      part.decay += begin * DeltaBuffers::kHeads;
      part.beta += begin * DeltaBuffers::kHeads;
      part.out += begin * DeltaBuffers::kHeads * DeltaBuffers::kValues;
      part.state = part.state_after = state.get();
      gated_delta(part, w.get(), pool);
    }
    EXPECT_EQ(
        std::memcmp(parts.out.get(), whole.out.get(), static_cast<size_t>(whole.out.size()) * 4),
        0);
    EXPECT_EQ(std::memcmp(state.get(), end.get(), kState * 4), 0);
  });
}

}  // namespace
}  // namespace hone::cpu

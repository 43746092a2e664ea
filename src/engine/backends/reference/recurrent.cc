// Primitives that change a state token by token.
#include "engine/backends/reference/numbers.h"

namespace hone::reference {
namespace {

// A head of values of one segment: its places in the operands.
struct DeltaHead {
  int64_t begin, end;  // tokens
  int64_t head, key_head, segment;
};

struct DeltaShape {
  explicit DeltaShape(const Call& c)
      : tokens(c.in[0].shape[0]),
        heads(c.attrs.integer("heads")),
        key_heads(c.attrs.integer("key_heads")),
        D(c.in[0].shape[1] / key_heads),
        E(c.in[2].shape[1] / heads),
        segments(c.in[5].count() - 1) {}
  size_t key(int64_t t, const DeltaHead& h, int64_t i) const {
    return static_cast<size_t>((t * key_heads + h.key_head) * D + i);
  }
  size_t value(int64_t t, const DeltaHead& h, int64_t j) const {
    return static_cast<size_t>((t * heads + h.head) * E + j);
  }
  size_t gate(int64_t t, const DeltaHead& h) const {
    return static_cast<size_t>(t * heads + h.head);
  }
  size_t of_state(const DeltaHead& h) const {
    return static_cast<size_t>((h.segment * heads + h.head) * D * E);
  }
  size_t cell(int64_t i, int64_t j) const { return static_cast<size_t>(i * E + j); }

  template <class F>
  void for_heads(const int32_t* cu, F&& f) const {
    for (int64_t s = 0; s < segments; ++s)
      for (int64_t h = 0; h < heads; ++h)
        f(DeltaHead{cu[s], cu[s + 1], h, h / (heads / key_heads), s});
  }

  int64_t tokens, heads, key_heads, D, E, segments;
};

struct DeltaOperands {
  DeltaOperands(const Call& c, const KernelArgs& a)
      : q(load(a.in[0], c.in[0])),
        k(load(a.in[1], c.in[1])),
        v(load(a.in[2], c.in[2])),
        decay(load(a.in[3], c.in[3])),
        beta(load(a.in[4], c.in[4])) {}
  Numbers q, k, v, decay, beta;
};

// One token: the state becomes the decayed one, `decayed` a copy of it, then the new one; u is what is
// added to the rows.
void delta_step(const DeltaShape& s, const DeltaOperands& o, const DeltaHead& h, int64_t t,
                Numbers& state, Numbers& decayed, Numbers& u) {
  for (double& x : state) x *= std::exp(o.decay[s.gate(t, h)]);
  decayed = state;
  for (int64_t j = 0; j < s.E; ++j) {
    double seen = 0;
    for (int64_t i = 0; i < s.D; ++i) seen += state[s.cell(i, j)] * o.k[s.key(t, h, i)];
    u[static_cast<size_t>(j)] = o.beta[s.gate(t, h)] * (o.v[s.value(t, h, j)] - seen);
  }
  for (int64_t i = 0; i < s.D; ++i)
    for (int64_t j = 0; j < s.E; ++j)
      state[s.cell(i, j)] += o.k[s.key(t, h, i)] * u[static_cast<size_t>(j)];
}

void gated_delta_rule(const Call& c, const KernelArgs& a) {
  const DeltaShape s(c);
  const DeltaOperands o(c, a);
  const bool carries = c.in.size() > 6 && a.in[6] != nullptr;
  Numbers out(static_cast<size_t>(c.out[0].count()), 0.0);
  Numbers states = carries ? load(a.in[6], c.in[6]) : Numbers();
  Numbers decayed, u(static_cast<size_t>(s.E));
  s.for_heads(static_cast<const int32_t*>(a.in[5]), [&](const DeltaHead& h) {
    Numbers state(static_cast<size_t>(s.D * s.E), 0.0);
    const auto kept =
        carries ? states.begin() + static_cast<std::ptrdiff_t>(s.of_state(h)) : states.begin();
    if (carries) std::copy_n(kept, state.size(), state.begin());
    for (int64_t t = h.begin; t < h.end; ++t) {
      delta_step(s, o, h, t, state, decayed, u);
      for (int64_t i = 0; i < s.D; ++i)
        for (int64_t j = 0; j < s.E; ++j)
          out[s.value(t, h, j)] += state[s.cell(i, j)] * o.q[s.key(t, h, i)];
    }
    if (carries) std::copy(state.begin(), state.end(), kept);
  });
  store(out, a.out[0], c.out[0]);
  if (carries) store(states, a.out[1], c.out[1]);
}

void gated_delta_rule_grad(const Call& c, const KernelArgs& a) {
  const DeltaShape s(c);
  const DeltaOperands o(c, a);
  const Numbers dout = load(a.in[6], c.in[6]);
  const auto zeros = [&](size_t k) { return Numbers(static_cast<size_t>(c.out[k].count()), 0.0); };
  Numbers dq = zeros(0), dk = zeros(1), dv = zeros(2), ddecay = zeros(3), dbeta = zeros(4);
  s.for_heads(static_cast<const int32_t*>(a.in[5]), [&](const DeltaHead& h) {
    const auto length = static_cast<size_t>(h.end - h.begin);
    std::vector<Numbers> decayed(length), after(length);
    std::vector<Numbers> added(length, Numbers(static_cast<size_t>(s.E)));
    Numbers state(static_cast<size_t>(s.D * s.E), 0.0), n = state;
    for (size_t i = 0; i < length; ++i) {
      delta_step(s, o, h, h.begin + static_cast<int64_t>(i), state, decayed[i], added[i]);
      after[i] = state;
    }
    for (size_t at = length; at-- > 0;) {
      const int64_t t = h.begin + static_cast<int64_t>(at);
      const Numbers &before = decayed[at], &u = added[at];
      const double beta = o.beta[s.gate(t, h)];
      for (int64_t i = 0; i < s.D; ++i)
        for (int64_t j = 0; j < s.E; ++j) {
          n[s.cell(i, j)] += o.q[s.key(t, h, i)] * dout[s.value(t, h, j)];
          dq[s.key(t, h, i)] += after[at][s.cell(i, j)] * dout[s.value(t, h, j)];
        }
      for (int64_t j = 0; j < s.E; ++j) {
        double r = 0, seen = 0;
        for (int64_t i = 0; i < s.D; ++i) {
          r += n[s.cell(i, j)] * o.k[s.key(t, h, i)];
          seen += before[s.cell(i, j)] * o.k[s.key(t, h, i)];
        }
        dv[s.value(t, h, j)] = beta * r;
        dbeta[s.gate(t, h)] += r * (o.v[s.value(t, h, j)] - seen);
      }
      for (int64_t i = 0; i < s.D; ++i)
        for (int64_t j = 0; j < s.E; ++j) {
          const double of_v = dv[s.value(t, h, j)];
          double& cell = n[s.cell(i, j)];
          dk[s.key(t, h, i)] += cell * u[static_cast<size_t>(j)] - before[s.cell(i, j)] * of_v;
          cell -= o.k[s.key(t, h, i)] * of_v;
          ddecay[s.gate(t, h)] += cell * before[s.cell(i, j)];
          cell *= std::exp(o.decay[s.gate(t, h)]);
        }
    }
  });
  const Numbers* grads[] = {&dq, &dk, &dv, &ddecay, &dbeta};
  for (size_t k = 0; k < 5; ++k) store(*grads[k], a.out[k], c.out[k]);
}

}  // namespace

void add_recurrent(Table& t) {
  t["gated_delta_rule"] = gated_delta_rule;
  t["gated_delta_rule_grad"] = gated_delta_rule_grad;
}

}  // namespace hone::reference

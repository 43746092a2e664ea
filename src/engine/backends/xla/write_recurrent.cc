// The gated delta rule (engine/ops/gated_delta_rule.cc): loops over tokens that carry the states of all
// heads. The gradient keeps the state before each chunk of tokens and computes those inside again, so
// that its memory grows with the square root of the tokens.
#include "engine/backends/xla/write_ops.h"

namespace hone::xla {
namespace {

constexpr int64_t kChunk = 32;

// Operands by token, padded with zeros to whole chunks, and the formulas of a token.
struct DeltaRule {
  DeltaRule(Writer& writer, const NodeView& n, const Refs& in, int64_t tokens_of_chunk)
      : w(writer),
        tokens(n.in("q").shape[0]),
        heads(n.integer("heads")),
        key_heads(n.integer("key_heads")),
        D(n.in("q").shape[1] / key_heads),
        E(n.in("v").shape[1] / heads),
        segments(n.in("cu").shape[0] - 1),
        chunk(std::min(tokens, tokens_of_chunk)),
        chunks((tokens + chunk - 1) / chunk),
        element(in[0].element) {
    q = of_heads(in[0]);
    k = of_heads(in[1]);
    v = w.reshape(padded(in[2]), {rows(), heads, E});
    decay = w.unary("exponential", padded(in[3]));
    beta = padded(in[4]);
    const Ref& cu = in[5];
    const Shape table{rows(), segments};
    const auto bound = [&](int64_t from) {
      return w.broadcast(w.slice(cu, 0, from, from + segments), table, {1});
    };
    const Ref t = w.iota("i32", table, 0), next = w.binary("add", t, w.whole_like(1, t));
    starts = any(w.compare("EQ", bound(0), t));
    ends = any(w.compare("EQ", bound(1), next));
    segment =
        w.reduce("add", w.convert(w.compare("LE", bound(1), t), "i32"), w.whole(0, "i32"), {1});
    const Ref last = w.fill(w.reshape(w.slice(cu, 0, segments, segments + 1), {}), {rows()});
    inside = w.compare("LT", w.iota("i32", {rows()}, 0), last);
  }

  int64_t rows() const { return chunk * chunks; }
  Shape state_shape() const { return {heads, D, E}; }
  Ref zeros(const Shape& shape) const { return w.number(0, element, shape); }
  Ref times(const Ref& a, const Ref& b) const { return w.binary("multiply", a, b); }
  Ref sum(const Ref& a, const Ref& b) const { return w.binary("add", a, b); }
  Ref minus(const Ref& a, const Ref& b) const { return w.binary("subtract", a, b); }
  Ref total(const Ref& x, int64_t axis) const {
    return w.reduce("add", x, w.number(0, element), {axis});
  }
  Ref if_row(const Ref& condition, const Ref& x, const Ref& y) const {
    return w.select(w.fill(condition, x.shape), x, y);
  }
  // Values of a token: [H,D], [H,E] or [H] for each cell of the states [H,D,E].
  Ref by_key(const Ref& x) const { return w.broadcast(x, state_shape(), {0, 1}); }
  Ref by_value(const Ref& x) const { return w.broadcast(x, state_shape(), {0, 2}); }
  Ref by_head(const Ref& x) const { return w.broadcast(x, state_shape(), {0}); }

  struct Token {
    Ref q, k, v, beta, decayed, rest, added, state;  // rest: v - M'^T k
  };
  // The token t after the decayed state.
  Token token(const Ref& t, const Ref& decayed) const {
    Token x{w.row(q, t), w.row(k, t), w.row(v, t), w.row(beta, t), decayed, {}, {}, {}};
    x.rest = minus(x.v, total(times(decayed, by_key(x.k)), 1));
    x.added = times(w.broadcast(x.beta, {heads, E}, {0}), x.rest);
    x.state = sum(decayed, times(by_key(x.k), by_value(x.added)));
    return x;
  }
  Ref decayed(const Ref& t, const Ref& state, const Ref& first) const {
    return times(if_row(w.row(starts, t), first, state), by_head(w.row(decay, t)));
  }

  Writer& w;
  int64_t tokens, heads, key_heads, D, E, segments, chunk, chunks;
  std::string element;
  Ref q, k, v, decay, beta;           // [rows,H,D], [rows,H,E], [rows,H]; decay: its exp
  Ref starts, ends, inside, segment;  // [rows]

  Ref padded(const Ref& x) const {
    if (rows() == tokens) return x;
    Shape more = x.shape;
    more[0] = rows() - tokens;
    return w.concat({x, w.number(0, x.element, more)}, 0);
  }

 private:
  Ref of_heads(const Ref& x) const {
    const Ref grouped = w.reshape(padded(x), {rows(), key_heads, D});
    const Shape each{rows(), key_heads, heads / key_heads, D};
    return w.reshape(w.broadcast(grouped, each, {0, 1, 3}), {rows(), heads, D});
  }
  Ref any(const Ref& x) const {
    const Ref count = w.reduce("add", w.convert(x, "i32"), w.whole(0, "i32"), {1});
    return w.compare("GT", count, w.whole_like(0, count));
  }
};

Refs write_delta_rule(Writer& w, const NodeView& n, const Refs& in) {
  const bool carries = n.has("state");
  const Type &out = n.out(0), &keys = n.in("q");
  if (out.count() == 0 || keys.count() == 0) {
    Refs none{w.number(0, element_of(out.dtype), out.shape)};
    if (carries) none.push_back(in[n.slot("state")]);
    return none;
  }
  const DeltaRule d(w, n, in, keys.shape[0]);
  const Shape all{d.segments, d.heads, d.D, d.E};
  Refs carried{d.zeros(d.state_shape()), d.zeros({d.rows(), d.heads, d.E})};
  if (carries) carried.push_back(w.reshape(in[n.slot("state")], all));
  const Refs done = w.loop(d.tokens, carried, [&](const Ref& t, const Refs& c) {
    const Ref s = w.row(d.segment, t), inside = w.row(d.inside, t);
    const Ref first = carries ? w.row(c[2], s) : d.zeros(d.state_shape());
    const DeltaRule::Token x = d.token(t, d.decayed(t, c[0], first));
    const Ref y = d.total(d.times(x.state, d.by_key(x.q)), 1);
    Refs next{x.state, w.set_row(c[1], t, d.if_row(inside, y, w.number_like(0, y)))};
    if (carries) next.push_back(w.set_row(c[2], s, d.if_row(inside, x.state, w.row(c[2], s))));
    return next;
  });
  Refs results{w.reshape(done[1], out.shape)};
  if (carries) results.push_back(w.reshape(done[2], n.out(1).shape));
  return results;
}

// The gradients of a token: dq, dk [H,D], dv [H,E], ddecay, dbeta [H]; `grad`: of its state, before and
// after.
Refs token_grads(const DeltaRule& d, const DeltaRule::Token& x, const Ref& dout, const Ref& decay,
                 Ref& grad) {
  grad = d.sum(grad, d.times(d.by_key(x.q), d.by_value(dout)));
  const Ref dq = d.total(d.times(x.state, d.by_value(dout)), 2);
  const Ref r = d.total(d.times(grad, d.by_key(x.k)), 1);
  const Ref dv = d.times(d.w.broadcast(x.beta, r.shape, {0}), r);
  const Ref dbeta = d.total(d.times(r, x.rest), 1);
  const Ref dk =
      d.total(d.minus(d.times(grad, d.by_value(x.added)), d.times(x.decayed, d.by_value(dv))), 2);
  grad = d.minus(grad, d.times(d.by_key(x.k), d.by_value(dv)));
  const Ref ddecay = d.total(d.total(d.times(grad, x.decayed), 2), 1);
  grad = d.times(grad, d.by_head(decay));
  return {dq, dk, dv, ddecay, dbeta};
}

Refs write_delta_rule_grad(Writer& w, const NodeView& n, const Refs& in) {
  if (n.in("q").count() == 0 || n.in("v").count() == 0) {
    Refs none;
    for (size_t i = 0; i < 5; ++i)
      none.push_back(w.number(0, element_of_result(n, i), n.out(i).shape));
    return none;
  }
  const DeltaRule d(w, n, in, kChunk);
  const Ref dout = w.reshape(d.padded(in[6]), {d.rows(), d.heads, d.E});
  const Ref zero = d.zeros(d.state_shape()), size = w.whole(static_cast<uint64_t>(d.chunk), "i32");
  const auto at = [&](const Ref& c, const Ref& i) {
    return w.binary("add", w.binary("multiply", c, size), i);
  };
  const auto backwards = [&](int64_t count, const Ref& i) {
    return w.binary("subtract", w.whole(static_cast<uint64_t>(count - 1), "i32"), i);
  };
  const auto many = [&](int64_t count) { return d.zeros({count, d.heads, d.D, d.E}); };
  // The states before each chunk.
  const Ref kept = w.loop(d.chunks, {zero, many(d.chunks)}, [&](const Ref& c, const Refs& outer) {
    const Refs after = w.loop(d.chunk, {outer[0]}, [&](const Ref& i, const Refs& state) {
      const Ref t = at(c, i);
      return Refs{d.token(t, d.decayed(t, state[0], zero)).state};
    });
    return Refs{after[0], w.set_row(outer[1], c, outer[0])};
  })[1];
  const Shape keys{d.rows(), d.heads, d.D}, gates{d.rows(), d.heads};
  Refs grads{zero,           d.zeros(keys), d.zeros(keys), d.zeros({d.rows(), d.heads, d.E}),
             d.zeros(gates), d.zeros(gates)};
  grads = w.loop(d.chunks, grads, [&](const Ref& i, const Refs& outer) {
    const Ref c = backwards(d.chunks, i);
    const Ref decayed =
        w.loop(d.chunk, {w.row(kept, c), many(d.chunk)}, [&](const Ref& j, const Refs& inner) {
          const Ref t = at(c, j), before = d.decayed(t, inner[0], zero);
          return Refs{d.token(t, before).state, w.set_row(inner[1], j, before)};
        })[1];
    return w.loop(d.chunk, outer, [&](const Ref& j, const Refs& inner) {
      const Ref place = backwards(d.chunk, j), t = at(c, place), inside = w.row(d.inside, t);
      Ref grad = d.if_row(w.row(d.ends, t), zero, inner[0]);
      const DeltaRule::Token x = d.token(t, w.row(decayed, place));
      const Refs own = token_grads(d, x, w.row(dout, t), w.row(d.decay, t), grad);
      Refs next{grad};
      for (size_t g = 0; g < own.size(); ++g)
        next.push_back(
            w.set_row(inner[g + 1], t, d.if_row(inside, own[g], w.number_like(0, own[g]))));
      return next;
    });
  });
  Refs results;
  for (size_t g = 1; g < grads.size(); ++g) {
    Ref x = grads[g];
    if (g <= 2) x = d.total(w.reshape(x, {d.rows(), d.key_heads, d.heads / d.key_heads, d.D}), 2);
    const Shape& shape = n.out(g - 1).shape;
    results.push_back(w.slice(w.reshape(x, {d.rows(), shape[1]}), 0, 0, d.tokens));
  }
  return results;
}

}  // namespace

void add_recurrent(WriteTable& t) {
  t["gated_delta_rule"] = write_delta_rule;
  t["gated_delta_rule_grad"] = write_delta_rule_grad;
}

}  // namespace hone::xla

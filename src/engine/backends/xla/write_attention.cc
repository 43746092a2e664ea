// attention and attention_grad (engine/ops/attention.cc) by blocks of queries and keys, with
// running maxima and sums (Dao et al., arXiv 2205.14135, algorithms 1 and 4): memory grows with the
// tokens, and blocks of keys that no query of a block may see are skipped. Attention over pages is
// decomposed.
#include "engine/backends/xla/draws.h"
#include "engine/backends/xla/write_ops.h"
#include "engine/ops/attention_parts.h"

namespace hone::xla {
namespace {

constexpr int64_t kAttentionBlock = 256;  // queries, and keys

// Tokens of queries or keys in blocks.
struct AttentionSide {
  AttentionSide(int64_t count)
      : tokens(count),
        block(std::min(count, kAttentionBlock)),
        blocks((count + block - 1) / block) {}
  int64_t padded() const { return block * blocks; }
  int64_t tokens, block, blocks;
  Ref cu;                 // i32[S+1]
  Ref segment;            // i32[blocks,block]: the token's segment; S: none
  Ref left, place;        // i32[blocks,block]: tokens of the segment from it on; before it
  Ref first_id, last_id;  // i32[blocks]: the segments of the first and the last token
};

// A block of queries.
struct BlockQueries {
  Ref q;                     // [G,R*Bq,D]: R heads read one key/value head
  Ref segment, left, place;  // i32[Bq]
  Ref samples;               // i64[Bq], with dropout
};

// The pairs of a block of queries and one of keys: [H,Bq,Bk].
struct BlockPairs {
  Ref scores;   // -inf: not allowed
  Ref tangent;  // tanh of the scores over the softcap, if there is one
  Ref keep;     // dropout's mask, if there is dropout
  Ref columns;  // i32[Bq*Bk]: of the bias, if there is one; < 0: no allowed pair
  Ref k;        // [G,Bk,D]
};

class AttentionBlocks {
 public:
  AttentionBlocks(Writer& writer, const NodeView& node, const Refs& operands,
                  const RandomKey& random)
      : w(writer),
        n(node),
        in(operands),
        key(random),
        dims(*attention_dims(node)),
        element(element_of(wide(dims.dtype))),
        queries(dims.tq),
        keys(dims.tk),
        H(dims.heads),
        G(dims.kv_heads),
        D(dims.size) {
    const bool bf16 = n.flag("bf16") || dims.dtype == DType::bf16;
    rounded = bf16 ? "bf16" : n.flag("f16") ? "f16" : element;
    Ref q_all = in[0], k_all = in[1], v_all = in[2];
    if (dims.fused) {
      const int64_t at = H * D, step = G * D;
      k_all = w.slice(in[0], 1, at, at + step);
      v_all = w.slice(in[0], 1, at + step, at + 2 * step);
      q_all = w.slice(in[0], 1, 0, at);
    }
    read_segments(queries, in[n.slot("cu_q")]);
    read_segments(keys, in[n.slot("cu_k")]);
    q = grouped(in_blocks(w.narrow(q_all, rounded), queries, H));
    k = in_blocks(w.narrow(k_all, rounded), keys, G);
    v = in_blocks(w.narrow(v_all, rounded), keys, G);
    find_ranges();
    if (dims.reach > 0) bias = w.transpose(in[n.slot("bias")], {1, 0});
    if (n.real("dropout") > 0) {
      const Ref ids = w.padded(in[n.slot("sample_ids")], 0, queries.padded());
      samples = w.reshape(ids, {queries.blocks, queries.block});
    }
  }

  // [T,heads*D] as [blocks,heads,block,D].
  Ref in_blocks(const Ref& x, const AttentionSide& s, int64_t heads) const {
    const Ref all = w.reshape(w.padded(x, 0, s.padded()), {s.blocks, s.block, heads, D});
    return w.transpose(all, {0, 2, 1, 3});
  }
  // Its inverse, in the type of the operands.
  Ref as_tokens(const Ref& x, const AttentionSide& s, int64_t heads) const {
    const Ref all = w.reshape(x, {s.blocks, heads, s.block, D});
    const Ref rows = w.reshape(w.transpose(all, {0, 2, 1, 3}), {s.padded(), heads * D});
    return w.narrow(w.slice(rows, 0, 0, s.tokens), element_of(dims.dtype));
  }

  // The heads of a key/value head in one: [..,H,Bq,X] as [..,G,R*Bq,X].
  Ref grouped(const Ref& x) const {
    Shape s(x.shape.begin(), x.shape.end() - 3);
    s.insert(s.end(), {G, H / G * x.shape[x.shape.size() - 2], x.shape.back()});
    return w.reshape(x, s);
  }
  Ref by_head(const Ref& x) const { return w.reshape(x, {H, queries.block, x.shape.back()}); }

  // A product of each key/value head, of operands in the rounded type.
  Ref product(const Ref& x, const Ref& y, bool trans_x, bool trans_y) const {
    return w.dot(w.narrow(x, rounded), w.narrow(y, rounded), trans_x, trans_y, element);
  }
  Ref number(double value, const Shape& shape) const { return w.number(value, element, shape); }
  Ref times(const Ref& x, const Ref& y) const { return w.binary("multiply", x, y); }
  Ref scaled(const Ref& x, double factor) const { return times(x, w.number_like(factor, x)); }
  Ref minus(const Ref& x, const Ref& y) const { return w.binary("subtract", x, y); }
  Ref sum(const Ref& x, const Ref& y) const { return w.binary("add", x, y); }
  // A value of each query [H,Bq] for [H,Bq,X].
  Ref over(const Ref& x, const Shape& shape) const { return w.broadcast(x, shape, {0, 1}); }
  Ref drop(const BlockPairs& p, const Ref& x) const {
    if (p.keep.name.empty()) return x;
    return w.select(p.keep, scaled(x, 1 / (1 - n.real("dropout"))), w.number_like(0, x));
  }

  // Calls `body` with the number of each block of queries; of each block of keys that they may see.
  Refs each_query_block(const Refs& carried, const Writer::Turn& body) const {
    if (queries.blocks == 1) return body(w.whole(0, "i32"), carried);
    return w.loop(queries.blocks, carried, body);
  }
  Refs each_key_block(const Ref& i, const Refs& carried, const Writer::Turn& body) const {
    if (keys.blocks == 1) return body(w.whole(0, "i32"), carried);
    return w.loop(w.row(first_block, i), w.row(end_block, i), carried, body);
  }

  BlockQueries query_block(const Ref& i) const {
    BlockQueries x{w.row(q, i),
                   w.row(queries.segment, i),
                   w.row(queries.left, i),
                   w.row(queries.place, i),
                   {}};
    if (!samples.name.empty()) x.samples = w.row(samples, i);
    return x;
  }

  BlockPairs pairs(const BlockQueries& x, const Ref& j) const {
    const Shape pair{queries.block, keys.block}, all{H, queries.block, keys.block};
    BlockPairs p;
    p.k = w.row(k, j);
    Ref s = scaled(by_head(product(x.q, p.k, false, true)), n.real("scale"));
    if (const double cap = n.real("softcap"); cap > 0) {
      p.tangent = w.unary("tanh", w.binary("divide", s, w.number_like(cap, s)));
      s = scaled(p.tangent, cap);
    }
    const Ref distance =
        minus(w.broadcast(w.row(keys.left, j), pair, {1}), w.broadcast(x.left, pair, {0}));
    const Ref allowed = allowed_pairs(x, w.row(keys.segment, j), distance);
    if (dims.reach > 0) s = with_bias(s, distance, allowed, p);
    p.scores = w.select(w.broadcast(allowed, all, {1, 2}), s, w.number_like(-INFINITY, s));
    if (!x.samples.name.empty()) {
      const AttentionDraws draws{key, n.real("dropout"), dims.first_head, x.samples, x.place};
      p.keep = kept_pairs(w, draws, w.broadcast(w.row(keys.place, j), all, {2}));
    }
    return p;
  }

  Writer& w;
  const NodeView& n;
  const Refs& in;
  RandomKey key;
  AttentionDims dims;
  std::string element, rounded;  // of sums and of the operands of products
  AttentionSide queries, keys;
  int64_t H, G, D;
  Ref q, k, v;                 // [blocks,G,R*Bq,D], [blocks,G,Bk,D]
  Ref first_block, end_block;  // i32[blocks of queries]: the keys that they may see
  Ref bias;                    // [2*reach-1,H]
  Ref samples;                 // i64[blocks,Bq]

 private:
  Ref whole(int64_t x, const Ref& like) const {
    return w.number(static_cast<double>(x), like.element, like.shape);
  }
  Ref plus(const Ref& x, int64_t y) const { return y == 0 ? x : sum(x, whole(y, x)); }
  Ref largest(const Ref& x, const Ref& y) const { return w.binary("maximum", x, y); }
  Ref least(const Ref& x, const Ref& y) const { return w.binary("minimum", x, y); }
  Ref column(const Ref& x, int64_t c) const {
    return w.reshape(w.slice(x, 1, c, c + 1), {x.shape[0]});
  }

  // rows() moves numbers after the last segment to it, which has no tokens there.
  void read_segments(AttentionSide& s, const Ref& cu) const {
    s.cu = cu;
    const Ref id = segments_of(w, cu, s.padded()), token = w.iota("i32", {s.padded()}, 0);
    const auto by_block = [&](const Ref& x) { return w.reshape(x, {s.blocks, s.block}); };
    s.segment = by_block(id);
    s.left = by_block(minus(w.rows(cu, plus(id, 1)), token));
    s.place = by_block(minus(token, w.rows(cu, id)));
    s.first_id = column(s.segment, 0);
    s.last_id = column(s.segment, s.block - 1);
  }

  void find_ranges() {
    const Ref first_token =
        times(w.iota("i32", {queries.blocks}, 0),
              w.whole(static_cast<uint64_t>(queries.block), "i32", {queries.blocks}));
    const auto end_of = [&](const AttentionSide& s, const Ref& id) {
      return w.rows(s.cu, plus(id, 1));
    };
    const auto shift = [&](const Ref& id) { return minus(end_of(keys, id), end_of(queries, id)); };
    Ref begin = w.rows(keys.cu, queries.first_id), end = end_of(keys, queries.last_id);
    const int64_t window = n.integer("window");
    const bool causal = n.flag("causal");
    if (window > 0)
      begin = largest(begin, plus(sum(first_token, shift(queries.first_id)), 1 - window));
    if (causal || window > 0) {
      const Ref at = sum(plus(first_token, queries.block - 1), shift(queries.last_id));
      const Ref start = w.rows(keys.cu, queries.last_id);
      end = largest(least(end, plus(at, causal ? 1 : window)), start);
    }
    first_block = w.binary("divide", begin, whole(keys.block, begin));
    end_block = w.binary("divide", plus(end, keys.block - 1), whole(keys.block, end));
  }

  Ref allowed_pairs(const BlockQueries& x, const Ref& key_segment, const Ref& distance) const {
    const Ref of_query = w.broadcast(x.segment, distance.shape, {0});
    const Ref of_key = w.broadcast(key_segment, distance.shape, {1});
    Ref allowed = w.compare("EQ", of_query, of_key);
    const auto also = [&](const Ref& y) { allowed = w.binary("and", allowed, y); };
    also(w.compare("LT", of_query, whole(dims.segments, of_query)));
    const int64_t window = n.integer("window");
    if (n.flag("causal")) also(w.compare("GE", distance, whole(0, distance)));
    if (window > 0) also(w.compare("LT", distance, whole(window, distance)));
    if (window > 0 && !n.flag("causal")) also(w.compare("GT", distance, whole(-window, distance)));
    return allowed;
  }

  // The score of a pair beyond the reach is NaN.
  Ref with_bias(const Ref& scores, const Ref& distance, const Ref& allowed, BlockPairs& p) const {
    const Ref at = minus(whole(dims.reach - 1, distance), distance);
    const Ref inside = w.binary("and", w.compare("GE", at, whole(0, at)),
                                w.compare("LT", at, whole(2 * dims.reach - 1, at)));
    const Ref usable = w.select(w.binary("and", inside, allowed), at, whole(-1, at));
    p.columns = w.reshape(usable, {queries.block * keys.block});
    const Ref each = w.reshape(w.rows(bias, p.columns), {queries.block, keys.block, H});
    return w.select(w.broadcast(inside, scores.shape, {1, 2}),
                    sum(scores, w.transpose(each, {2, 0, 1})), w.number_like(NAN, scores));
  }
};

// A block of queries: its results [H,Bq,D] and logarithms of sums [H,Bq].
Refs attend(const AttentionBlocks& b, const Ref& i) {
  Writer& w = b.w;
  const BlockQueries x = b.query_block(i);
  const Shape by_query{b.H, b.queries.block}, result{b.H, b.queries.block, b.D};
  const auto finite = [&](const Ref& most) {
    const Ref none = w.compare("EQ", most, w.number_like(-INFINITY, most));
    return w.select(none, w.number_like(0, most), most);
  };
  const Refs start{b.number(-INFINITY, by_query), b.number(0, by_query), b.number(0, result)};
  const Refs done = b.each_key_block(i, start, [&](const Ref& j, const Refs& c) {
    const BlockPairs p = b.pairs(x, j);
    const Ref own = w.reduce("maximum", p.scores, b.number(-INFINITY, {}), {2});
    const Ref most = w.binary("maximum", c[0], own), shift = finite(most);
    const Ref e = w.unary("exponential", b.minus(p.scores, b.over(shift, p.scores.shape)));
    const Ref rest = w.unary("exponential", b.minus(c[0], shift));
    const Ref sums = b.sum(b.times(c[1], rest), w.reduce("add", e, b.number(0, {}), {2}));
    const Ref made = b.by_head(b.product(b.grouped(b.drop(p, e)), w.row(b.v, j), false, false));
    return Refs{most, sums, b.sum(b.times(c[2], b.over(rest, result)), made)};
  });
  const Ref empty = w.compare("EQ", done[1], w.number_like(0, done[1]));
  const Ref sums = w.select(empty, w.number_like(1, done[1]), done[1]);
  const Ref lse = b.sum(w.unary("log", done[1]), finite(done[0]));
  return {w.binary("divide", done[2], b.over(sums, result)), lse};
}

Refs attention_text(const AttentionBlocks& b) {
  Writer& w = b.w;
  const AttentionSide& s = b.queries;
  const Refs start{b.number(0, {s.blocks, b.H, s.block, b.D}),
                   b.number(0, {s.blocks, b.H, s.block})};
  const Refs done = b.each_query_block(start, [&](const Ref& i, const Refs& c) {
    const Refs made = attend(b, i);
    return Refs{w.set_row(c[0], i, made[0]), w.set_row(c[1], i, made[1])};
  });
  const Ref lse = w.reshape(w.transpose(done[1], {1, 0, 2}), {b.H, s.padded()});
  return {b.as_tokens(done[0], s, b.H), w.slice(lse, 1, 0, s.tokens)};
}

// The gradients of a block of queries: its dq [H,Bq,D], then `carried` (dk, dv of all keys, dbias)
// with its part added.
Refs attend_grad(const AttentionBlocks& b, const Ref& i, const Refs& carried,
                 const Ref& lse_of_block, const Ref& out, const Ref& dout) {
  Writer& w = b.w;
  const BlockQueries x = b.query_block(i);
  const Ref empty = w.compare("EQ", lse_of_block, w.number_like(-INFINITY, lse_of_block));
  const Ref lse = w.select(empty, w.number_like(0, lse_of_block), lse_of_block);
  const Ref delta = w.reduce("add", b.times(out, dout), b.number(0, {}), {2});
  const Ref douts = b.grouped(dout);
  Refs start{b.number(0, out.shape)};
  start.insert(start.end(), carried.begin(), carried.end());
  return b.each_key_block(i, start, [&](const Ref& j, const Refs& c) {
    const BlockPairs p = b.pairs(x, j);
    const Shape& all = p.scores.shape;
    const Ref e = w.unary("exponential", b.minus(p.scores, b.over(lse, all)));
    const Ref dv = b.product(b.grouped(b.drop(p, e)), douts, true, false);
    const Ref dp = b.drop(p, b.by_head(b.product(douts, w.row(b.v, j), false, true)));
    const Ref dscore = b.times(e, b.minus(dp, b.over(delta, all)));
    Ref ds = b.scaled(dscore, b.n.real("scale"));
    if (!p.tangent.name.empty())
      ds = b.times(ds, b.minus(w.number_like(1, ds), b.times(p.tangent, p.tangent)));
    const Ref of_scores = b.grouped(ds);
    const Ref dq = b.by_head(b.product(of_scores, p.k, false, false));
    const Ref dk = b.product(of_scores, x.q, true, false);
    Refs next{b.sum(c[0], dq), w.set_row(c[1], j, b.sum(w.row(c[1], j), dk)),
              w.set_row(c[2], j, b.sum(w.row(c[2], j), dv))};
    if (b.dims.reach > 0) {
      const Ref by_pair = w.reshape(w.transpose(dscore, {1, 2, 0}), {all[1] * all[2], b.H});
      next.push_back(w.add_rows(c[3], p.columns, by_pair));
    }
    return next;
  });
}

Refs attention_grad_text(const AttentionBlocks& b) {
  Writer& w = b.w;
  const AttentionSide &s = b.queries, &keys = b.keys;
  const auto operand = [&](const char* name) {
    return b.in_blocks(w.convert(b.in[b.n.slot(name)], b.element), s, b.H);
  };
  const Ref out = operand("out"), dout = operand("dout");
  const Ref lse = w.transpose(
      w.reshape(w.padded(b.in[b.n.slot("lse")], 1, s.padded()), {b.H, s.blocks, s.block}),
      {1, 0, 2});
  const Shape of_keys{keys.blocks, b.G, keys.block, b.D};
  Refs start{b.number(0, {s.blocks, b.H, s.block, b.D}), b.number(0, of_keys),
             b.number(0, of_keys)};
  if (b.dims.reach > 0) start.push_back(b.number(0, b.bias.shape));
  const Refs done = b.each_query_block(start, [&](const Ref& i, const Refs& c) {
    Refs next =
        attend_grad(b, i, {c.begin() + 1, c.end()}, w.row(lse, i), w.row(out, i), w.row(dout, i));
    next[0] = w.set_row(c[0], i, next[0]);
    return next;
  });
  Refs g{b.as_tokens(done[0], s, b.H), b.as_tokens(done[1], keys, b.G),
         b.as_tokens(done[2], keys, b.G)};
  if (b.dims.fused) g = {w.concat(g, 1)};
  if (b.dims.reach > 0) g.push_back(w.transpose(done[3], {1, 0}));
  if (b.n.flag("sums")) g.push_back(w.reduce("add", w.widen(g[0]), w.number(0, b.element), {0}));
  return g;
}

// The attributes that decide the text, and which operands are there.
std::string variant_of(const NodeView& n, const AttentionDims& d) {
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {}", d.heads, d.kv_heads, n.flag("causal"),
                  n.integer("window"), n.real("scale"), n.real("softcap"), n.real("dropout"),
                  d.first_head, n.flag("bf16"), n.flag("f16"), n.attrs().flag("sums"));
  for (size_t i = 0; i < n.inputs(); ++i) text += n.has(i) ? " x" : " _";
  return text;
}

// Layers share a function: the key of dropout is an argument.
template <Refs (*formula)(const AttentionBlocks&)>
Refs write_in_blocks(Writer& w, const NodeView& n, const Refs& in) {
  Refs arguments;
  for (size_t i = 0; i < in.size(); ++i)
    if (n.has(i)) arguments.push_back(in[i]);
  const bool draws = n.real("dropout") > 0;
  if (draws) {
    const RandomKey key = dropout_key_of(w, in[n.slot("rng")], n.text("key"));
    arguments.insert(arguments.end(), {key.low, key.high});
  }
  const auto body = [&](Writer& writer, const Refs& given) {
    Refs operands(in.size());
    size_t at = 0;
    for (size_t i = 0; i < in.size(); ++i)
      if (n.has(i)) operands[i] = given[at++];
    const RandomKey key = draws ? RandomKey{given[at], given[at + 1]} : RandomKey{};
    return formula(AttentionBlocks(writer, n, operands, key));
  };
  return w.call(n.node.op->name, arguments, body, variant_of(n, *attention_dims(n)));
}

}  // namespace

bool writes_attention(const NodeView& n) {
  const Result<AttentionDims> d = attention_dims(n);
  return d.ok() && !d->paged && d->tq > 0 && d->tk > 0;
}

void add_attention(WriteTable& t) {
  t["attention"] = write_in_blocks<attention_text>;
  t["attention_grad"] = write_in_blocks<attention_grad_text>;
}

}  // namespace hone::xla

// Philox4x32-10 in integer operations, so that masks have the bits of every other backend
// (base/core/philox.h), and the primitives that draw from it.
#include <algorithm>
#include <array>

#include "base/core/error.h"
#include "base/core/philox.h"
#include "engine/backends/xla/draws.h"
#include "engine/backends/xla/write_ops.h"

namespace hone::xla {
namespace {

using Words = std::array<Ref, 4>;
using Key = RandomKey;

// The two halves of the product of each element and a constant, from products of 16 bits.
std::array<Ref, 2> product_of_parts(Writer& w, const Ref& x, uint32_t factor) {
  const auto times = [&](const Ref& v, uint32_t f) {
    return w.binary("multiply", v, w.whole_like(f, v));
  };
  const auto low = [&](const Ref& v) { return w.binary("and", v, w.whole_like(0xffff, v)); };
  const auto high = [&](const Ref& v) {
    return w.binary("shift_right_logical", v, w.whole_like(16, v));
  };
  const uint32_t low_factor = factor & 0xffff, high_factor = factor >> 16;
  const Ref x0 = low(x), x1 = high(x), p0 = times(x0, low_factor);
  const Ref p1 = w.binary("add", times(x1, low_factor), high(p0)),
            p2 = w.binary("add", times(x0, high_factor), low(p1));
  const Ref p3 = w.binary("add", w.binary("add", times(x1, high_factor), high(p1)), high(p2));
  return {p3, w.binary("or", w.binary("shift_left", p2, w.whole_like(16, p2)), low(p0))};
}

// The same from a product of 64 bits.
std::array<Ref, 2> product(Writer& w, const Ref& x, uint32_t factor) {
  if (w.integers() == Integers::of_32_bits) return product_of_parts(w, x, factor);
  const Ref whole = w.convert(x, "ui64"),
            p = w.binary("multiply", whole, w.whole_like(factor, whole));
  const Ref high = w.binary("shift_right_logical", p, w.whole_like(32, p));
  const Ref low = w.binary("and", p, w.whole_like(0xffffffff, p));
  return {w.convert(high, "ui32"), w.convert(low, "ui32")};
}

Refs ten_rounds(Writer& w, const Refs& a) {
  Ref c0 = a[0], c1 = a[1], c2 = a[2], c3 = a[3], k0 = a[4], k1 = a[5];
  for (int round = 0; round < 10; ++round) {
    const auto [high0, low0] = product(w, c0, 0xD2511F53u);
    const auto [high1, low1] = product(w, c2, 0xCD9E8D57u);
    c0 = w.binary("xor", w.binary("xor", high1, c1), w.fill(k0, c0.shape));
    c2 = w.binary("xor", w.binary("xor", high0, c3), w.fill(k1, c0.shape));
    c1 = low1;
    c3 = low0;
    k0 = w.binary("add", k0, w.whole_like(0x9E3779B9u, k0));
    k1 = w.binary("add", k1, w.whole_like(0xBB67AE85u, k1));
  }
  return {c0, c1, c2, c3};
}

// The four words of Philox for counters ui32 of one shape.
Words philox(Writer& w, const Words& counter, const Key& key) {
  Refs arguments(counter.begin(), counter.end());
  arguments.push_back(key.low);
  arguments.push_back(key.high);
  const Refs words = w.call("philox", arguments, ten_rounds);
  return {words[0], words[1], words[2], words[3]};
}

// The halves of i64, or of ui64, as ui32.
std::array<Ref, 2> halves(Writer& w, const Ref& x) {
  const Ref bits = w.bitcast(x, "ui64");
  const Ref high = w.binary("shift_right_logical", bits, w.whole_like(32, bits));
  const Ref low = w.binary("and", bits, w.whole_like(0xffffffff, bits));
  return {w.convert(low, "ui32"), w.convert(high, "ui32")};
}

Key constant_key(Writer& w, int64_t key) {
  const auto bits = static_cast<uint64_t>(key);
  return {w.whole(bits & 0xffffffff, "ui32"), w.whole(bits >> 32, "ui32")};
}

// The keys of all dropouts: low and high.
Refs dropout_keys(Writer& w, const Ref& rng) {
  const auto part = [&](int64_t i) { return w.reshape(w.slice(rng, 0, i, i + 1), {}); };
  const auto [seed_low, seed_high] = halves(w, part(0));
  const auto [step_low, step_high] = halves(w, part(1));
  std::vector<uint32_t> low, high;
  for (const std::string& place : w.dropouts.places) {
    const uint64_t hash = scope_hash(place);
    low.push_back(static_cast<uint32_t>(hash));
    high.push_back(static_cast<uint32_t>(hash >> 32));
  }
  const Shape all{static_cast<int64_t>(low.size())};
  const auto table = [&](const std::vector<uint32_t>& v) {
    return w.table("ui32", all, v.data(), v.size() * sizeof(uint32_t));
  };
  const Words words =
      philox(w, {w.fill(step_low, all), w.fill(step_high, all), table(low), table(high)},
             {seed_low, seed_high});
  return {words[0], words[1]};
}

}  // namespace

Key dropout_key_of(Writer& w, const Ref& rng, const std::string& place) {
  const std::vector<std::string>& places = w.dropouts.places;
  const auto at = std::find(places.begin(), places.end(), place) - places.begin();
  HONE_BUG_IF(at == std::ssize(places), "the writer does not know the dropout {}", place);
  Refs& keys = w.dropouts.keys[rng.name];
  if (keys.empty()) keys = dropout_keys(w, rng);
  // Layers differ in this number alone, so that they can become a loop (roll.h).
  const Ref row = w.whole(static_cast<uint64_t>(at), "i32");
  return {w.row(keys[0], row), w.row(keys[1], row)};
}

namespace {

Ref kept(Writer& w, const Ref& word, double p) {
  return w.compare("GE", word, w.whole_like(dropout_threshold(p), word));
}

// Words of [.., blocks, lanes] as [.., blocks * 4 * lanes], word after word in each block.
Ref interleaved(Writer& w, const Refs& words) {
  Shape with_word = words[0].shape;
  const size_t rank = with_word.size();
  with_word.insert(with_word.end() - 1, 1);
  Refs parts;
  for (const Ref& word : words) parts.push_back(w.reshape(word, with_word));
  const Ref all = w.concat(parts, static_cast<int64_t>(rank) - 1);
  Shape flat(with_word.begin(), with_word.end() - 3);
  flat.push_back(all.shape[rank - 2] * all.shape[rank - 1] * all.shape[rank]);
  return w.reshape(all, flat);
}

Refs write_dropout_mask(Writer& w, const NodeView& n, const Refs& in) {
  const int64_t rows = n.out(0).shape[0], channels = n.out(0).shape[1];
  if (n.out(0).count() == 0) return {w.number(1, "i1", n.out(0).shape)};
  const Key key = dropout_key_of(w, in[0], n.text("key"));
  const int64_t blocks = (channels + 63) / 64;
  const Shape shape{rows, blocks, 16};
  const auto [low, high] = halves(w, in[1]);
  const Ref lane = w.reshape(w.iota("ui32", {blocks * 16}, 0), {blocks, 16});
  const Words words =
      philox(w,
             {w.broadcast(low, shape, {0}), w.broadcast(high, shape, {0}),
              w.broadcast(w.bitcast(in[2], "ui32"), shape, {0}), w.broadcast(lane, shape, {1, 2})},
             key);
  const Ref all = interleaved(w, {words.begin(), words.end()});  // [rows, blocks * 64]
  return {kept(w, w.slice(all, 1, 0, channels), n.real("p"))};
}

}  // namespace

Ref segments_of(Writer& w, const Ref& cu, int64_t count) {
  const int64_t s = cu.shape[0] - 1;
  const Shape table{count, s};
  const Ref ends = w.broadcast(w.slice(cu, 0, 1, s + 1), table, {1});
  const Ref i = w.iota("i32", table, 0);
  const Ref before = w.convert(w.compare("LE", ends, i), "i32");
  return w.reduce("add", before, w.whole(0, "i32"), {1});
}

Ref kept_pairs(Writer& w, const AttentionDraws& draws, const Ref& columns) {
  const Shape& shape = columns.shape;
  const Ref column = w.bitcast(columns, "ui32");
  const auto constant = [&](uint64_t v) { return w.whole_like(v, column); };
  const Ref lane =
      w.binary("add", w.binary("multiply", w.binary("divide", column, constant(64)), constant(16)),
               w.binary("and", column, constant(15)));
  const auto [low, high] = halves(w, draws.samples);
  Ref heads = w.iota("ui32", shape, 0);
  if (draws.first_head > 0)
    heads = w.binary("add", heads, w.whole_like(static_cast<uint64_t>(draws.first_head), heads));
  const Ref moved = w.binary("shift_left", high, w.whole_like(16, high));
  const Words words =
      philox(w,
             {w.broadcast(low, shape, {1}), w.binary("xor", w.broadcast(moved, shape, {1}), heads),
              w.broadcast(w.bitcast(draws.rows, "ui32"), shape, {1}), lane},
             draws.key);
  const Ref which = w.binary("and", w.binary("divide", column, constant(16)), constant(3));
  Ref word = words[3];
  for (uint64_t k = 0; k < 3; ++k)
    word = w.select(w.compare("EQ", which, constant(k)), words[k], word);
  return kept(w, word, draws.p);
}

namespace {

Refs write_attention_dropout_mask(Writer& w, const NodeView& n, const Refs& in) {
  const Shape& shape = n.out(0).shape;  // [H, Tq, Tk]
  if (n.out(0).count() == 0 || n.in(2).count() < 2) return {w.number(1, "i1", shape)};
  const int64_t tq = shape[1];
  const Ref segment = segments_of(w, in[2], tq);
  const Ref next = w.binary("add", segment, w.whole_like(1, segment));
  // rows() moves a segment after the last one to the end, where it is empty.
  const Ref start_q = w.rows(in[2], segment), start_k = w.rows(in[3], segment),
            end_k = w.rows(in[3], next);
  const Ref row = w.binary("subtract", w.iota("i32", {tq}, 0), start_q);
  const Ref first = w.broadcast(start_k, shape, {1}), last = w.broadcast(end_k, shape, {1});
  const Ref j = w.iota("i32", shape, 2);
  const Ref inside = w.binary("and", w.compare("GE", j, first), w.compare("LT", j, last));
  const AttentionDraws draws{dropout_key_of(w, in[0], n.text("key")), n.real("p"), 0, in[1], row};
  const Ref keep = kept_pairs(w, draws, w.binary("subtract", j, first));
  return {w.binary("or", keep, w.unary("not", inside))};
}

Refs write_random_normal(Writer& w, const NodeView& n, const Refs& in) {
  const int64_t count = n.out(0).count(), blocks = (count + 3) / 4;
  if (count == 0) return {w.number(0, element_of_result(n), n.out(0).shape)};
  const Ref step = w.binary("subtract", in[0], w.whole(1, "i64"));
  const auto [low, high] = halves(
      w, w.binary("divide", step, w.whole_like(static_cast<uint64_t>(n.integer("period")), step)));
  const auto [block_low, block_high] = halves(w, w.iota("ui64", {blocks}, 0));
  const Words words =
      philox(w, {block_low, block_high, w.fill(low, {blocks}), w.fill(high, {blocks})},
             constant_key(w, n.integer("key")));
  Refs parts;
  for (size_t pair = 0; pair < 4; pair += 2) {
    const Ref a = w.convert(words[pair], "f64"), b = w.convert(words[pair + 1], "f64");
    const Ref u =
        w.binary("multiply", w.binary("add", a, w.number_like(0.5, a)), w.number_like(0x1p-32, a));
    const Ref length =
        w.unary("sqrt", w.binary("multiply", w.number_like(-2, u), w.unary("log", u)));
    const Ref angle = w.binary("multiply", b, w.number_like(2 * std::acos(-1.0) * 0x1p-32, b));
    const Ref scaled = w.binary("multiply", length, w.number_like(n.real("std"), length));
    for (const char* wave : {"cosine", "sine"})
      parts.push_back(w.reshape(w.binary("multiply", scaled, w.unary(wave, angle)), {blocks, 1}));
  }
  const Ref all = w.reshape(w.concat(parts, 1), {blocks * 4});
  return {w.reshape(w.narrow(w.slice(all, 0, 0, count), element_of_result(n)), n.out(0).shape)};
}

Refs write_round_stochastic(Writer& w, const NodeView& n, const Refs& in) {
  const int64_t count = n.out(0).count(), first = n.integer("first");
  if (count == 0) return {w.number(0, "bf16", n.out(0).shape)};
  const int64_t begin = first / 128, blocks = (first + count + 127) / 128 - begin;
  const Shape shape{blocks, 16};
  const Ref counter =
      w.reshape(w.binary("add", w.iota("ui64", {blocks * 16}, 0),
                         w.whole(static_cast<uint64_t>(begin) * 16, "ui64", {blocks * 16})),
                shape);
  const auto [low, high] = halves(w, counter);
  const auto [step_low, step_high] = halves(w, in[1]);
  const Words words = philox(w, {low, high, w.fill(step_low, shape), w.fill(step_high, shape)},
                             constant_key(w, n.integer("key")));
  Refs lower, upper;
  for (const Ref& word : words) {
    lower.push_back(w.binary("and", word, w.whole_like(0xffff, word)));
    upper.push_back(w.binary("shift_right_logical", word, w.whole_like(16, word)));
  }
  lower.insert(lower.end(), upper.begin(), upper.end());
  const Ref random =
      w.slice(interleaved(w, lower), 0, first - begin * 128, first - begin * 128 + count);
  const Ref x = w.reshape(w.convert(in[0], "f32"), {count}), bits = w.bitcast(x, "ui32");
  const Ref sum = w.binary("add", bits, random);
  const Ref nan = w.compare("NE", x, x);
  const Ref quiet = w.binary("or", bits, w.whole_like(0x400000, bits));
  const Ref chosen = w.select(nan, quiet, sum);
  const Ref top =
      w.convert(w.binary("shift_right_logical", chosen, w.whole_like(16, chosen)), "ui16");
  return {w.reshape(w.bitcast(top, "bf16"), n.out(0).shape)};
}

}  // namespace

void add_random(WriteTable& t) {
  t["dropout_mask"] = write_dropout_mask;
  t["attention_dropout_mask"] = write_attention_dropout_mask;
  t["random_normal"] = write_random_normal;
  t["round_stochastic"] = write_round_stochastic;
}

}  // namespace hone::xla

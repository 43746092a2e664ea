// dequantize: matrices in few bits (engine/ops/block_schemes.h, docs/formats/gguf.md). Bits of a
// block are read by tables: for each of its elements a byte, a shift and a mask.
#include "base/core/dynamic_map.h"
#include "engine/backends/xla/write_ops.h"
#include "engine/ops/block_schemes.h"

namespace hone::xla {
namespace {

// The place of an element's bits in its block.
struct Bits {
  int64_t byte = 0, shift = 0, mask = 255;
};

// The blocks of a payload as numbers [elements of a block, blocks].
class Blocks {
 public:
  Blocks(Writer& w, const Ref& payload, const BlockScheme& scheme)
      : w_(w), block_(scheme.block), count_(payload.shape[0] * payload.shape[1] / scheme.bytes) {
    bytes_ = w.transpose(w.reshape(payload, {count_, scheme.bytes}), {1, 0});
  }

  template <class Where>
  Ref bits(Where where) {
    std::vector<int32_t> byte, shift, mask;
    for (int64_t i = 0; i < block_; ++i) {
      const Bits at = where(i);
      byte.push_back(static_cast<int32_t>(at.byte));
      shift.push_back(static_cast<int32_t>(at.shift));
      mask.push_back(static_cast<int32_t>(at.mask));
    }
    const Ref whole = w_.convert(w_.rows(bytes_, column(byte)), "i32");
    const auto each = [&](const std::vector<int32_t>& v) {
      return w_.broadcast(column(v), {block_, count_}, {0});
    };
    const Ref low = w_.binary("shift_right_logical", whole, each(shift));
    return w_.convert(w_.binary("and", low, each(mask)), "f32");
  }
  // Bytes as numbers with a sign.
  template <class Where>
  Ref with_sign(Where byte) {
    const Ref x = bits([&](int64_t i) { return Bits{byte(i)}; });
    return w_.select(w_.compare("GE", x, w_.number_like(128, x)), plus(x, -256), x);
  }
  // The f16 or bf16 number at a byte, the same for each element of a block.
  Ref half(int64_t at, const std::string& element = "f16") {
    const Ref pair = w_.transpose(w_.slice(bytes_, 0, at, at + 2), {1, 0});
    const auto part = [&](int64_t k) {
      return w_.convert(w_.reshape(w_.slice(pair, 1, k, k + 1), {count_}), "ui16");
    };
    const Ref high = part(1);
    const Ref bits =
        w_.binary("or", part(0), w_.binary("shift_left", high, w_.whole_like(8, high)));
    return w_.broadcast(w_.convert(w_.bitcast(bits, element), "f32"), {block_, count_}, {1});
  }
  // 2^(e - 127) for the byte e, the same for each element of a block.
  Ref power(int64_t at) {
    const Ref e = w_.convert(
        w_.reshape(w_.transpose(w_.slice(bytes_, 0, at, at + 1), {1, 0}), {count_}), "ui16");
    const Ref shifted = w_.binary("shift_left", e, w_.whole_like(7, e));
    const Ref bits = w_.binary("maximum", shifted, w_.whole_like(64, e));  // of e = 0: subnormal
    return w_.broadcast(w_.convert(w_.bitcast(bits, "bf16"), "f32"), {block_, count_}, {1});
  }
  // x of the bits m is the largest of m / 2, m - 2 and 2 m - 8.
  Ref e2m1(int64_t at) {
    const Ref m = bits([=](int64_t i) { return Bits{at + i % 16, i < 16 ? 0 : 4, 7}; });
    const Ref sign = bits([=](int64_t i) { return Bits{at + i % 16, i < 16 ? 3 : 7, 1}; });
    const auto line = [&](double by, double from) {
      return plus(times(m, w_.number_like(by, m)), from);
    };
    const Ref size =
        w_.binary("maximum", line(0.5, 0), w_.binary("maximum", line(1, -2), line(2, -8)));
    return times(size, plus(times(sign, w_.number_like(-2, sign)), 1));
  }
  Ref plus(const Ref& x, double addend) { return w_.binary("add", x, w_.number_like(addend, x)); }
  Ref times(const Ref& x, const Ref& y) { return w_.binary("multiply", x, y); }
  Ref minus(const Ref& x, const Ref& y) { return w_.binary("subtract", x, y); }
  Ref sum(const Ref& x, const Ref& y) { return w_.binary("add", x, y); }
  Ref sixteen(const Ref& x) { return w_.binary("multiply", x, w_.number_like(16, x)); }

  // Parts that several formats have.
  Ref low_then_high(int64_t at) {
    return bits([=](int64_t i) { return Bits{at + i % 16, i < 16 ? 0 : 4, 15}; });
  }
  Ref fifth(int64_t at) {
    return sixteen(bits([=](int64_t i) { return Bits{at + i / 8, i % 8, 1}; }));
  }
  Ref two_bits(int64_t at) {
    return bits([=](int64_t i) { return Bits{at + i / 128 * 32 + i % 32, 2 * (i % 128 / 32), 3}; });
  }
  Ref nibble(int64_t at) {
    return bits([=](int64_t i) { return Bits{at + i / 64 * 32 + i % 32, i / 32 % 2 * 4, 15}; });
  }
  Ref six_bits(bool minimum) {
    const int64_t high = minimum ? 4 : 0;
    const Ref low = bits([=](int64_t i) {
      const int64_t g = i / 32;
      return g < 4 ? Bits{4 + g % 4 + high, 0, 63} : Bits{4 + g % 4 + 8, high, 15};
    });
    return sum(low, sixteen(bits([=](int64_t i) {
                 const int64_t g = i / 32;
                 return Bits{4 + g % 4 + high, 6, g < 4 ? 0 : 3};
               })));
  }

 private:
  Ref column(const std::vector<int32_t>& v) {
    return w_.table("i32", {static_cast<int64_t>(v.size())}, v.data(), v.size() * 4);
  }
  Writer& w_;
  int64_t block_, count_;
  Ref bytes_;  // ui8[bytes of a block, blocks]
};

// The elements of GGUF's blocks: one formula for each format.
Ref gguf_elements(const std::string& scheme, Blocks& b) {
  if (scheme == "f16" || scheme == "bf16") return b.half(0, scheme);
  if (scheme == "mxfp4") return b.times(b.power(0), b.e2m1(1));
  if (scheme == "q8_0") return b.times(b.half(0), b.with_sign([](int64_t i) { return 2 + i; }));
  if (scheme == "q4_0") return b.times(b.half(0), b.plus(b.low_then_high(2), -8));
  if (scheme == "q4_1") return b.sum(b.times(b.half(0), b.low_then_high(4)), b.half(2));
  if (scheme == "q5_0")
    return b.times(b.half(0), b.plus(b.sum(b.low_then_high(6), b.fifth(2)), -16));
  if (scheme == "q5_1")
    return b.sum(b.times(b.half(0), b.sum(b.low_then_high(8), b.fifth(4))), b.half(2));
  if (scheme == "q2_k") {
    const Ref scale = b.bits([](int64_t i) {
      return Bits{i / 16, 0, 15};
    }),
              least = b.bits([](int64_t i) {
                return Bits{i / 16, 4, 15};
              });
    return b.minus(b.times(b.times(b.half(80), scale), b.two_bits(16)), b.times(b.half(82), least));
  }
  if (scheme == "q3_k") {
    const Ref low = b.bits([](int64_t i) {
      const int64_t g = i / 16;
      return Bits{96 + g % 8, g < 8 ? 0 : 4, 15};
    });
    const Ref high = b.sixteen(b.bits([](int64_t i) {
      const int64_t g = i / 16;
      return Bits{104 + g % 4, 2 * (g / 4), 3};
    }));
    const Ref third = b.bits([](int64_t i) { return Bits{i % 32, i / 32, 1}; });
    const Ref four = b.sum(b.sum(third, third), b.sum(third, third));
    const Ref value = b.plus(b.sum(b.two_bits(32), four), -4);
    return b.times(b.times(b.half(108), b.plus(b.sum(low, high), -32)), value);
  }
  if (scheme == "q4_k")
    return b.minus(b.times(b.times(b.half(0), b.six_bits(false)), b.nibble(16)),
                   b.times(b.half(2), b.six_bits(true)));
  if (scheme == "q5_k") {
    const Ref fifth = b.sixteen(b.bits([](int64_t i) { return Bits{16 + i % 32, i / 32, 1}; }));
    return b.minus(b.times(b.times(b.half(0), b.six_bits(false)), b.sum(b.nibble(48), fifth)),
                   b.times(b.half(2), b.six_bits(true)));
  }
  HONE_BUG_IF(scheme != "q6_k", "no formula for {}", scheme);
  const Ref low = b.bits([](int64_t i) {
    return Bits{i / 128 * 64 + i % 64, i % 128 / 64 * 4, 15};
  });
  const Ref high = b.sixteen(b.bits([](int64_t i) {
    return Bits{128 + i / 128 * 32 + i % 32, 2 * (i % 128 / 32), 3};
  }));
  const Ref scale = b.with_sign([](int64_t i) { return 192 + i / 16; });
  return b.times(b.times(b.half(208), scale), b.plus(b.sum(low, high), -32));
}

// The scale of each group, as f32.
Ref scales_of(Writer& w, const NodeView& n, const Refs& in) {
  const Ref& scales = in[n.slot("scales")];
  if (scales.element != "ui8") return w.convert(scales, "f32");
  const Ref& nested = in[n.slot("nested_scales")];
  const int64_t count = scales.shape[0];
  const Ref map = w.table("f32", {256}, dynamic_map(true).data(), 1024);
  const Ref second =
      w.slice(w.reshape(w.broadcast(w.convert(nested, "f32"), {nested.shape[0], kNestedBlock}, {0}),
                        {nested.shape[0] * kNestedBlock}),
              0, 0, count);
  const Ref offset = w.fill(w.convert(in[n.slot("offset")], "f32"), {count});
  return w.binary("add", w.binary("multiply", w.rows(map, w.convert(scales, "i32")), second),
                  offset);
}

Refs write_dequantize(Writer& w, const NodeView& n, const Refs& in) {
  const BlockScheme& scheme = *block_scheme(n.text("scheme"));
  const Shape& shape = n.out(0).shape;
  const std::string element = element_of_result(n);
  if (n.out(0).count() == 0) return {w.number(0, element, shape)};
  if (scheme.scales_inside()) {
    Blocks blocks(w, in[0], scheme);
    const Ref x = w.transpose(gguf_elements(scheme.name, blocks), {1, 0});
    return {w.narrow(w.reshape(x, shape), element)};
  }
  const Ref scales = scales_of(w, n, in);
  if (scheme.code == nullptr) {
    const Ref q = w.convert(w.bitcast(in[0], "i8"), "f32");
    const Ref x = w.binary("multiply", q, w.broadcast(scales, shape, {0}));
    return {w.narrow(w.binary("divide", x, w.number_like(127, x)), element)};
  }
  const int64_t count = n.out(0).count(), groups = scales.shape[0];
  const Ref bytes = w.convert(w.reshape(in[0], {count / 2, 1}), "i32");
  const Ref high = w.binary("shift_right_logical", bytes, w.whole_like(4, bytes)),
            low = w.binary("and", bytes, w.whole_like(15, bytes));
  const Ref codes = w.reshape(w.concat({high, low}, 1), {count});
  const Ref map = w.table("f32", {16}, scheme.code, 64);
  const Ref each = w.slice(
      w.reshape(w.broadcast(scales, {groups, scheme.scaled}, {0}), {groups * scheme.scaled}), 0, 0,
      count);
  return {w.narrow(w.reshape(w.binary("multiply", w.rows(map, codes), each), shape), element)};
}

}  // namespace

void add_blocks(WriteTable& t) { t["dequantize"] = write_dequantize; }

}  // namespace hone::xla
